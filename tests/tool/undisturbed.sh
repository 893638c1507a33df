#!/bin/bash
# SPDX-License-Identifier: MIT
# undisturbed.sh BUILD_DIR -- a process that sleeps while its CPU time is sampled answers many
# requests, some of which take longer than the interval between two samples: no call returns EINTR.
source "$(dirname "$0")/lib.bash"
[ "$(uname -m)" = x86_64 ] || skip "a sleeping process is woken on x86-64 only"
cc -g -O1 -pthread -o undisturbed "$here/undisturbed.c" || fail "cc"

# launch CONF: its pid is in $pid, its input in $input.
launch() {
    rm -f pipe said
    mkfifo pipe
    MALLOW_CONF=prof_state_min:0,background_thread:false,$1 LD_PRELOAD=$build/lib/libmallow.so \
        ./undisturbed 100000 <pipe >said &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
    await 60 grep -qs ready said
    await 60 is_known "$pid"
}
# ends WHAT: the process's calls ended as if nothing had happened.
ends() {
    exec {input}>&-
    wait "$pid" || fail "$1: $(cat said)"
    ok "$1: $(tail -1 said)"
}

launch prof_sample:1,prof_cpu:1000
try 0 "$mallow" status "$pid"
says out 'CPU time .*1000 Hz'
for ((i = 0; i < 100; i++)); do
    try 0 "$mallow" dump --in-process "$pid"
    rm -f ./*.pb
done
ends "100 dumps"

# What threads take to stop and to go on ends the intervals of some: 1 in 50 at this rate.
cc -g -O1 -pthread -o asleep_together "$here/asleep_together.c" || fail "cc"
rm -f pipe said
mkfifo pipe
ulimit -n 4096 || fail "descriptors"
MALLOW_CONF=prof_state_min:0,background_thread:false,prof_cpu:1000 \
    LD_PRELOAD=$build/lib/libmallow.so ./asleep_together 1000 <pipe >said &
pid=$!
started+=("$pid")
exec {input}>pipe
# answers LINES: it has said so many lines.
answers() {
    [ "$(wc -l <said)" -ge "$1" ]
}
await 60 answers 2
await 60 is_known "$pid"
all_asleep() {
    [ "$(cat /proc/"$pid"/task/*/stat | grep -c ') S ')" = 1001 ]
}
await 60 all_asleep
echo >&"$input"
await 60 answers 3
for ((i = 0; i < 5; i++)); do
    try 0 "$mallow" leaks --wait 60 "$pid"
done
echo >&"$input"
await 60 answers 4
exec {input}>&-
wait "$pid" || fail "asleep together: status $?"
[ "$(sed -n 3p said)" = "$(sed -n 4p said)" ] ||
    fail "1000 threads, 5 leak checks: $(sed -n 3,4p said)"
ok "1000 threads, 5 leak checks"
