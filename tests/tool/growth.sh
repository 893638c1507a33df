#!/bin/bash
# SPDX-License-Identifier: MIT
# growth.sh BUILD_DIR -- `mallow leaks --growth`: who holds memory that is in use and reachable.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -fno-optimize-sibling-calls -pthread -o holders "$here/holders.c" || fail "cc"

# launch CONF: its pid is in $pid; it ends when descriptor $input is closed.
launch() {
    rm -f ready pipe
    mkfifo pipe
    MALLOW_CONF=prof_state_min:0,$1 LD_PRELOAD=$build/lib/libmallow.so ./holders <pipe >ready &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
    await 60 grep -qs ready ready
    await 60 is_known "$pid"
}
# equals EXPRESSION VALUE: of the object in ./out; held(WORD) is the holder whose name has the word
equals() {
    local got
    got=$(python3 -c "
import json
r = json.load(open('out'))
held = lambda word: next(h for h in r['holders'] if word in h['name'])
print(($1))") || fail "$1"
    [ "$got" = "$2" ] || fail "$1 is $got, not $2"
}

# Two commands at once ask for different things, while the process is stopped: each has the answer
# to its own question. `sleeps`: the command waits in clock_nanosleep(2), for its turn or an answer.
sleeps() {
    local call
    read -r call _ 2>/dev/null <"/proc/$1/syscall" || fail "command $1 has ended: $(cat ask.*)"
    [ "$call" = "$nanosleep" ]
}
case $(uname -m) in
x86_64) nanosleep=230 ;;
*) nanosleep=115 ;;
esac
launch prof_sample:1
kill -STOP "$pid"
await 60 grep -q '^State:.T' "/proc/$pid/status"
"$mallow" leaks --wait 60 --growth 1h "$pid" >ask.growth 2>&1 &
growth=$!
await 60 sleeps "$growth"
"$mallow" leaks --wait 60 "$pid" >ask.leaks 2>&1 &
leaks=$!
await 60 sleeps "$leaks"
kill -CONT "$pid"
wait "$growth" || fail "growth, beside leaks: $(cat ask.growth)"
wait "$leaks"
[ $? -lt 2 ] || fail "leaks, beside growth: $(cat ask.leaks)"
grep -q ', held by the variable table in holders$' ask.growth || fail "$(cat ask.growth)"
grep -q '^  checked   .* searched for ' ask.leaks || fail "$(cat ask.leaks)"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ok "two questions at once"

launch prof_sample:1
try 0 "$mallow" leaks --wait 60 --growth 1h --json "$pid"
equals 'r["view"], r["seconds"]' "('growth', 3600.0)"
# The table itself and 8192 entries.
equals 'held("variable table in holders")["blocks"]' 8193
equals 'held("variable table in holders")["kind"]' data
equals '[(t["function"], t["blocks"]) for t in held("variable table")["through"]]' \
    "[('grow_table', 8192)]"
equals '[f["name"] for f in held("variable table")["stacks"][0]["frames"]][:2]' \
    "['make_entry', 'insert']"
equals 'held("variable history in holders")["blocks"]' 3000
equals '[(t["function"], t["blocks"]) for t in held("variable history")["through"]]' \
    "[('make_entry', 2999)]"
equals '[f["name"] for f in held("variable history")["stacks"][0]["frames"]][:2]' \
    "['make_entry', 'remember']"
# All words of one mapping are one holder; it has two stacks, each of its own.
equals 'held("mapping at 0x")["blocks"], held("mapping at 0x")["kind"]' "(1400, 'data')"
equals 'sorted((s["blocks"], len(s["frames"]) > 100, s["frames"][102]["name"])
    for s in held("mapping at 0x")["stacks"])' \
    "[(700, True, 'make_one_way'), (700, True, 'make_other_way')]"
equals 'held("thread-local data of holders")["blocks"]' 90
equals 'held("thread-local data of holders")["kind"]' thread-local
# A thread's variable: its stack, or a register that has a copy.
equals 'sum(h["blocks"] for h in r["holders"] for s in h["stacks"]
    if h["kind"] != "data" and s["frames"][1]["name"] == "work") > 0' True
equals 'sum(s["blocks"] for h in r["holders"] for s in h["stacks"]
    if s["frames"][1]["name"] == "work")' 500
try 0 "$mallow" leaks --wait 60 --growth 1h "$pid"
says out "^holders \\(pid $pid\\): [0-9.]+ MiB in 13[01][0-9][0-9] blocks allocated in the last"
says out '^#1  [0-9.]+ MiB in 8193 blocks, held by the variable table in holders$'
says out '^    through    [0-9.]+ MiB in 8192 blocks on blocks of grow_table$'
ok "variables, threads, blocks between"

try 0 "$mallow" leaks --wait 60 --growth 1h -o held.html "$pid"
grep -q history held.html || fail "the flame graph has no variable"
try 0 "$mallow" leaks --growth 1h -o held.pb.gz "$pid"
try 0 "$mallow" top --cum --sample-type inuse_objects --tagfocus held:data held.pb.gz
says out ' 8193 .* table$'
try 0 "$mallow" leaks --wait 60 --growth 1h --focus remember --json "$pid"
equals '[h["blocks"] for h in r["holders"]]' '[3000]'
# Leaks are as without it.
try 0 "$mallow" leaks --last "$pid"
says out ': no leaks'
sleep 2
try 0 "$mallow" leaks --wait 60 --growth 1s --json "$pid"
equals 'sum(h["blocks"] for h in r["holders"]) < 10' True
try 2 "$mallow" leaks --growth 1s --last "$pid"
one_line_error
exec {input}>&-
wait "$pid" || fail "the program's exit status"
ok "files, selections, ages"

# The table has 64 KiB: it is not sampled once in e^16 runs.
launch prof_sample:4K
try 0 "$mallow" leaks --wait 60 --growth 1h --json "$pid"
# 8192 blocks of 208 bytes, 416 samples on average: six standard deviations are 8192 * 6 /
# sqrt(416).
equals '8192 - 2410 < held("variable table")["blocks"] < 8193 + 2410' True
equals '"grow_table" in [t["function"] for t in held("variable table")["through"]]' True
try 0 "$mallow" leaks --wait 60 --growth 1h "$pid"
says out 'one sample in 4.00 KiB: sizes and counts are estimates'
exec {input}>&-
ok "sampled"
