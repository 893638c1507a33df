#!/bin/bash
# SPDX-License-Identifier: MIT
# many_threads.sh BUILD_DIR -- an idle process of many threads, of which only the last one can be
# entered, answers.
source "$(dirname "$0")/lib.bash"
[ "$(uname -m)" = x86_64 ] || skip "on x86-64 only"
cc -g -O1 -pthread -o many_threads "$here/many_threads.c" || fail "cc"

# launch KIND COUNT: its pid is in $pid; it ends when descriptor $input is closed.
launch() {
    rm -f ready pipe
    mkfifo pipe
    MALLOW_CONF=background_thread:false LD_PRELOAD=$build/lib/libmallow.so \
        ./many_threads "$@" <pipe >ready &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
    await 60 grep -qs ready ready
    await 60 is_known "$pid"
}
finish() {
    exec {input}>&-
    wait "$pid" || fail "$1: status $?"
}

launch small 6000
for rate in 1M 2M 4M 1M; do
    try 0 "$mallow" set --wait 30 "$pid" rate=$rate
    says out "T = ${rate%M} MiB"
    says_not out pending
done
finish "small stacks"
ok "the last of 6000 threads on small stacks"

launch parts 200
for rate in 1M 2M 4M 1M; do
    try 0 "$mallow" set --wait 30 "$pid" rate=$rate
    says_not out pending
done
finish "stacks of coroutines"
ok "the last of 200 threads that have to be stopped to see it"
