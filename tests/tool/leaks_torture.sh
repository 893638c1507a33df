#!/bin/bash
# SPDX-License-Identifier: MIT
# leaks_torture.sh BUILD_DIR [SECONDS] -- `mallow leaks` again and again while threads start and
# end, fork, and load libraries: no check fails, none invents a leak, and the program notices
# nothing.
source "$(dirname "$0")/lib.bash"
seconds=${2:-10}
cc -g -O2 -pthread -o torture "$here/leaks_torture.c" || fail "cc"
for background in false true; do
    rm -f ready pipe
    mkfifo pipe
    MALLOW_CONF=prof_state_min:0,background_thread:$background LD_PRELOAD=$build/lib/libmallow.so \
        ./torture <pipe >ready &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
    await 60 grep -qs ready ready
    await 60 is_known "$pid"
    checks=0
    last=$((SECONDS + seconds))
    while [ "$SECONDS" -lt "$last" ]; do
        try 0 "$mallow" leaks --wait 30 "$pid"
        checks=$((checks + 1))
    done
    exec {input}>&-
    wait "$pid" || fail "status $? of the program"
    ok "$checks checks, background_thread:$background"
done
