#!/bin/bash
# SPDX-License-Identifier: MIT
# attach.sh BUILD_DIR [SEED] -- `mallow attach` and `mallow detach` where they are hardest: the
# command is killed at random moments, several commands work on one process at once, the process
# ends meanwhile, or forks, starts programs, loads and unloads modules and makes threads of a
# moment, and executes another program at its end.  No process may notice: each ends with status 0.
# MALLOW_TEST_CYCLES: how often each (20).
source "$(dirname "$0")/../tool/lib.bash"
# shellcheck source=tests/tool/without_mallow.bash
source "$here/without_mallow.bash"
[ -s "$build/lib/mallow/attach.bin" ] || skip "no code for this processor"
torture=$here/../torture
cycles=${MALLOW_TEST_CYCLES:-20}
seed=${2:-$(date +%s)}
RANDOM=$seed
echo "seed $seed, $cycles cycles"
g++ -O2 -g -pthread -o threads "$torture/attach_threads.cc" || fail "g++"
cc -O2 -g -fno-builtin -pthread -o events "$torture/attach_events.c" -ldl || fail "cc"
cc -O2 -g -fno-builtin -shared -fPIC -o module.so "$torture/attach_module.c" || fail "cc module"

# runs_on WHEN: the program has not ended, and has not failed.
runs_on() {
    has_ended "$pid" && fail "$1: the program has ended: $(tail -n 3 ready)"
    ! grep -q FAILED ready || fail "$1: $(tail -n 3 ready)"
}
# answers WHEN COMMAND...: it does what it was told, or says in one line why not.
answers() {
    local when=$1 status=0
    shift
    "$mallow" "$@" >out 2>err || status=$?
    [ "$status" = 0 ] && return
    [ "$status" = 2 ] || fail "$when: mallow $*: status $status"
    one_line_error
}
# moment MS: some of that time.
moment() {
    local time
    printf -v time '0.%03d' $((RANDOM % $1))
    nap "$time"
}

# A command takes some 50 ms; most kills come in between.
asleep ./threads 4
killed=0
for ((i = 1; i <= cycles; i++)); do
    for command in attach detach; do
        "$mallow" "$command" "$pid" >/dev/null 2>&1 &
        tool=$!
        moment 60
        kill -9 "$tool" 2>/dev/null
        wait "$tool" 2>/dev/null
        [ $? != 137 ] || killed=$((killed + 1))
        runs_on "$command $i was killed"
    done
    # Whatever state it was left in.
    answers "after kill $i" attach --rate 16K "$pid"
    try 0 "$mallow" detach "$pid"
done
[ "$killed" -gt 0 ] || fail "no command was killed before its end"
ends "killed commands"
ok "$killed of $((2 * cycles)) commands were killed before their end"

asleep ./threads 4
for ((i = 1; i <= cycles; i++)); do
    commands=()
    for command in attach detach attach detach; do
        "$mallow" "$command" "$pid" >/dev/null 2>"err.$command" &
        commands+=("$!")
    done
    for command in "${commands[@]}"; do
        status=0
        wait "$command" || status=$?
        [ "$status" = 0 ] || [ "$status" = 2 ] || fail "round $i: a command ended with $status"
    done
    runs_on "four commands at once, round $i"
done
answers "at the end" attach "$pid"
try 0 "$mallow" detach "$pid"
ends "four commands at once"
ok "four commands at once, $cycles times"

# The program ends 0 to 150 ms after the command has begun, and the command says so or is done.
for ((i = 1; i <= cycles; i++)); do
    asleep ./threads 2
    (answers "a program that ends" attach "$pid") &
    tool=$!
    moment 150
    ends "an attach during exit, $i"
    wait "$tool" || fail "attach during exit, $i"
done
ok "the program ended meanwhile, $cycles times"

asleep ./events "$work/module.so"
for ((i = 1; i <= cycles; i++)); do
    try 0 "$mallow" attach --rate 4K "$pid"
    moment 100
    runs_on "attached, $i"
    try 0 "$mallow" detach "$pid"
    moment 30
    runs_on "detached, $i"
done
try 0 "$mallow" attach --exact "$pid"
moment 300
runs_on "attached, with each block a sample"
ends "a program that forks, loads and executes"
grep -q executed ready || fail "the program has not executed itself: $(cat ready)"
ok "forks, programs, modules, threads of a moment and exec, $cycles times"
