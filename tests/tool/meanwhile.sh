#!/bin/bash
# SPDX-License-Identifier: MIT
# meanwhile.sh BUILD_DIR -- `mallow ls` while processes that it has found end, and others get their
# pids: a row is of the process that was found. gdb stops the command in between.
source "$(dirname "$0")/lib.bash"
needs gdb
[ -n "${MALLOW_TEST_OWN_PIDS:-}" ] || skip "pids are chosen in a namespace of the test's own"
cc -g -O1 -fno-builtin -o leases "$here/leases.c" || fail "cc"

# replace.sh PID: the process is killed, and another one, without mallow, gets its pid. Its title is
# one that setproctitle(3) could have set.
cat >replace.sh <<'END'
kill -9 "$1"
while kill -0 "$1" 2>/dev/null; do sleep 0.01; done
for ((i = 0; i < 1000; i++)); do
    echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid || exit
    (exec -a "visitor: waits" sleep 1000) >/dev/null 2>&1 &
    disown
    [ "$!" != "$1" ] || exit 0
    kill "$!"
done
END
begin() {
    MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so ./leases &
    pid=$!
    disown
    started+=("$pid")
    await 60 is_known "$pid"
}
# The places are found when the first state file is read.
stopped_ls() {
    gdb -q -batch -ex 'set breakpoint pending on' -ex 'break mw_fate_of' -ex run \
        -ex "shell $1" -ex 'delete' -ex continue --args "$mallow" ls --all >out 2>err </dev/null
}
begin
stopped_ls true
says out "^ *$pid running .* leases$"
stopped_ls "kill -9 $pid; sleep 0.2"
says out "^ *$pid killed .* leases, last seen"
begin
stopped_ls "bash replace.sh $pid"
says out "^ *$pid killed .* leases, last seen"
says_not out visitor
grep -q '^visitor' "/proc/$pid/cmdline" || fail "no other process has the pid"
ok "processes that end while they are listed"
