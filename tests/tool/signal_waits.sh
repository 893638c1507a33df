#!/bin/bash
# SPDX-License-Identifier: MIT
# signal_waits.sh BUILD_DIR -- threads that wait for all signals receive the program's and none of
# mallow's, while CPU time, time on the wall and events are sampled.
source "$(dirname "$0")/lib.bash"
cc -g -O2 -pthread -o waits "$here/signal_waits.c" || fail "cc"
for rate in 1000 -100; do
    MALLOW_CONF=prof_cpu:$rate,prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so timeout 300 \
        ./waits >out 2>&1 || fail "prof_cpu:$rate: status $?"
    says out '^ok$'
    ok "prof_cpu:$rate"
done
MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so timeout 300 \
    ./waits events >out 2>&1 &
pid=$!
started+=("$pid")
await 60 is_known "$pid"
"$mallow" cpu --event cpu-clock --for 60s "$pid" >table 2>err || [ $? = 1 ] || cat err
wait "$pid" || fail "cpu-clock: status $?"
says out '^ok$'
ok "cpu-clock"
