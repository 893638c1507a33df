#!/bin/bash
# SPDX-License-Identifier: MIT
# small_stacks.sh BUILD_DIR -- a thread on a small stack is not entered: below such a stack lie
# other data of the program, which no answer may overwrite. What was requested is done when it
# allocates, also on a stack of 16 KiB.
source "$(dirname "$0")/lib.bash"
# -z now: no function is looked up on these stacks.
cc -O1 -fno-builtin -pthread -Wl,-z,now -o small_stacks "$here/small_stacks.c" ||
    fail "small_stacks.c"
export MALLOW_CONF=prof_state_min:0,prof_active:false
kinds=(coroutine alternate adjoining guarded long limited least block huge)
# The hardened library has guards around large blocks as around stacks.
for kind in "${kinds[@]}" "${kinds[@]/#/secure-}"; do
    library=libmallow.so
    [ "$kind" = "${kind#secure-}" ] || library=libmallow_secure.so
    kind=${kind#secure-}
    rm -f pipe
    mkfifo pipe
    LD_PRELOAD=$build/lib/$library ./small_stacks "$kind" <pipe >said &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
    await 60 grep -q ready said
    case $kind in
    # The first thread, which has room, is about to end.
    adjoining | guarded | long | least | block | huge)
        await 60 grep -q '^State:.Z' "/proc/$pid/task/$pid/status"
        ;;
    esac
    try 2 "$mallow" cpu --for 0.2 --wait 1 "$pid"
    says err 'none of the threads that were tried is at a place with room on its stack'
    try 2 "$mallow" leaks --wait 1 "$pid"
    "$mallow" set --wait 1 "$pid" rate=1M >out 2>err
    echo >&"$input"
    wait "$pid" || fail "$library, $kind: status $?"
    exec {input}>&-
    grep -qx 'changed: 0' said || fail "$library, $kind: $(cat said)"
    ! grep -q epoll said || fail "$kind: $(cat said)"
done
ok "no byte below a small stack is written"
