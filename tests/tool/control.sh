#!/bin/bash
# SPDX-License-Identifier: MIT
# control.sh BUILD_DIR -- orders to several processes, settings, sessions, strict starts, dumps at
# intervals and by the process, clean.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -pthread -o churner "$here/churner.c" || fail "cc"

# launch NAME CONF [ARGUMENT]: a churner of that name; its pid is in $pid.
launch() {
    ln -sf churner "./$1"
    MALLOW_CONF=prof_state_min:0,$2 LD_PRELOAD=$build/lib/libmallow.so "./$1" "${3:-}" >"$1.out" \
        2>"$1.err" &
    pid=$!
    started+=("$pid")
    await 60 is_known "$pid"
}

status_of() {
    "$mallow" status --json "$1" | python3 -c "import json, sys; print(json.load(sys.stdin)['$2'])"
}

launch churner-a prof_sample:64K
a=$pid
launch churner-b prof_sample:64K
b=$pid
# How long a request waits is no matter here: by default a starved process has two seconds.
wait=(--wait 60)

try 0 "$mallow" stop "${wait[@]}" --name '^churner-[ab]$'
says out "^pid $a: off"
says out "^pid $b: off"
try 0 "$mallow" start "${wait[@]}" "$a"
[ "$(status_of "$a" active) $(status_of "$b" active)" = "True False" ] || fail "start of one of two"
try 0 "$mallow" ls --name 'churner-b'
says out "^ +$b running +off .*churner-b"
says_not out churner-a
try 0 "$mallow" start "${wait[@]}" --name churner- --strict
says out "^pid $b: all 3 threads follow"
# shellcheck disable=SC2016 # perl's variables
MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so \
    perl -e 'while (1) { my @a = map { "x" x $_ } 1 .. 500 }' &
alone=$!
started+=("$alone")
await 60 is_known "$alone"
try 0 "$mallow" start "${wait[@]}" --strict "$alone"
says out "^pid $alone: its thread follows$"
kill "$alone"
try 2 "$mallow" reset --name 'no such program'
says err 'no live process matches'
try 2 "$mallow" reset --name '['
one_line_error
try 2 "$mallow" stop
says err '^mallow: stop: which process\? .*; these run mallow:$'
says err "^ +$a  churner-a$"
group=$(tail -1 "/proc/$a/cgroup" | cut -d: -f3-)
try 0 "$mallow" status --cgroup "$group" --name churner-a
says out "churner-a \(pid $a\)"
ok "several at once, by name and by group; a strict start"

try 0 "$mallow" set "${wait[@]}" "$a" rate=32K dump_live=1G dump_keep=3
says out "pid $a: T = 32.0 KiB|pid $a: T = 32 KiB"
says out "dump_live = 1.00 GiB \(was off\)"
says out 'dump_keep = 3 dumps \(was 32 dumps\)'
try 0 "$mallow" set "${wait[@]}" "$a" dump_live=1G
says out 'dump_live is 1.00 GiB already; nothing changed'
try 2 "$mallow" set "${wait[@]}" "$a" dump_signal=65
one_line_error
try 2 "$mallow" set "${wait[@]}" "$a" dump_signal=9
says err 'rejected the request: the program or another option handles this signal, or no'
one_line_error
says err 'rejected'
try 0 "$mallow" set "${wait[@]}" "$a" "dump_name=$work/a.%n.%r.pb" prof_interval=64M dump_min_ms=0
more_than_three_were_written() {
    [[ $(find . -name 'a.*.allocated.pb' | sort | tail -1) > ./a.0003 ]] &&
        [ ! -e a.0001.allocated.pb ]
}
await 60 more_than_three_were_written
try 0 "$mallow" set "${wait[@]}" "$a" prof_interval=off
# The last may be under way still.
few_are_kept() {
    [ "$(find . -name 'a.*.allocated.pb' | wc -l)" -le 4 ]
}
await 60 few_are_kept
newest=$(find . -name 'a.*.allocated.pb' | sort | tail -1)
try 0 "$mallow" report "$newest"
says out 'churn_small'
ok "settings; dumps by bytes allocated, of which the newest stay"

for option in '-o x' '--format jemalloc' --cpu --labels '--every 1'; do
    # shellcheck disable=SC2086 # words
    try 2 "$mallow" dump --in-process $option "$a"
    one_line_error
    says err '^mallow: dump: --in-process and --[a-z]+ exclude each other'
done
try 0 "$mallow" dump --in-process "$a"
says err "the process wrote $work/a\.[0-9]+\.order\.pb"
try 0 "$mallow" status "$a"
says out 'dumps +[0-9]+ written'
says out 'dump_keep'
try 0 "$mallow" dump --every 1 --count 2 -o . "$a"
[ "$(find . -name "mallow.churner-a.$a.*.pb.gz" | wc -l)" = 2 ] ||
    fail "two dumps: $(echo mallow.*)"
try 2 "$mallow" dump --every 0.5 "$a"
one_line_error
try 2 "$mallow" dump -o one.pb "$a" "$b"
one_line_error
ok "dumps by the process, and at intervals"

for bad in request_limit=65536 'dump_name=a.%q' 'dump_name=a%'; do
    try 2 "$mallow" set "$a" "$bad"
    one_line_error
    says err "set: ${bad%%=*} does not take '.*'; allowed: "
done
try 0 "$mallow" set "${wait[@]}" "$a" request_limit=65537
try 0 "$mallow" set "${wait[@]}" "$a" request_limit=off
ok "values that would mean something else"

try 0 "$mallow" stop "${wait[@]}" "$b"
# What cannot be written is told at once, not after the session.
for bad in none/session.pb.gz /proc/none/; do
    try 2 timeout 20 "$mallow" start "${wait[@]}" --for 1h -o "$bad" "$b"
    one_line_error
    says err "^mallow: start: $bad: cannot write: No such file"
done
[ "$(status_of "$b" active)" = False ] || fail "a session that was refused switched sampling on"
try 0 "$mallow" start "${wait[@]}" --for 0.5 -o session.pb.gz "$b"
says err 'allocated in .* of which .* are still live; profile written: session.pb.gz'
[ "$(status_of "$b" active)" = False ] || fail "the session left sampling on"
try 0 "$mallow" report --sample-type alloc_space session.pb.gz
says out 'churn_small'
says_not out 'before_session'
try 0 "$mallow" report session.pb.gz
says_not out 'before_session'
ok "a session holds what was allocated in it"

kill -9 "$a" "$b"
wait "$a" "$b" 2>/dev/null
try 0 "$mallow" ls --all --name churner-
says out "^ +$a killed"
try 0 "$mallow" clean --name churner- --dry-run
says out 'would remove churner-a'
try 0 "$mallow" clean --name churner- --older 1h
says out '^0 of 2 state files removed'
try 0 "$mallow" clean --name churner- --keep 1
says out '^1 of 2 state files removed'
try 0 "$mallow" clean --name churner-
says out '^1 of 1 state files removed'
try 2 "$mallow" report "$a"
ok "clean"

launch churner-c prof_sample:64K,prof_active:false
try 0 env MALLOW="$mallow" bash "$here/../../contrib/profile_phase.sh" "$pid" 0.5 phase
says out '== what grew and what shrank in these 0.5 s'
says out '== allocated meanwhile'
says out 'churn_small'
[ "$(status_of "$pid" active)" = False ] || fail "the script left sampling on"
for file in before between after; do
    [ -s "phase/$file.pb.gz" ] || fail "no phase/$file.pb.gz"
done
ok "contrib/profile_phase.sh"
