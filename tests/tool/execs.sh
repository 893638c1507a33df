#!/bin/bash
# SPDX-License-Identifier: MIT
# execs.sh BUILD_DIR -- programs that execute others while events or timers sample their CPU time:
# none ends by a signal. MALLOW_TEST_EXECS=10000 makes that many in all.
source "$(dirname "$0")/lib.bash"
library=$build/lib/libmallow.so
cc -O1 -fno-builtin -pthread -o execs "$here/execs.c" || fail "cc"
kinds=(execve execvp spawn syscall fexecve)
sources=(page-faults cpu-clock context-switches timer)
# Each chain executes itself so often; a chain of posix_spawn(3) holds its parents.
turns=$((${MALLOW_TEST_EXECS:-600} / (${#kinds[@]} * ${#sources[@]} + 2 * ${#sources[@]}) + 1))

# run SOURCE KIND [THREAD]
run() {
    local conf=prof_cpu:1000
    [ "$1" = timer ] || conf+=,prof_cpu_event:$1
    MALLOW_CONF=$conf LD_PRELOAD=$library ./execs "$turns" "$2" 8 ${3+"$3"} >out 2>err
}
cc -O1 -fno-builtin -o leases "$here/leases.c" || fail "cc"
MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$library ./leases &
pid=$!
started+=("$pid")
await 60 is_known "$pid"
events=yes
if ! permits_events "$pid"; then
    events=
    leave_out "events: perf_event_open(2) is not permitted"
fi
made=0
for source in "${sources[@]}"; do
    [ "$source" = timer ] || [ -n "$events" ] || continue
    for kind in "${kinds[@]}"; do
        run "$source" "$kind" || fail "$source, $kind: status $?"
        made=$((made + turns))
    done
    for kind in execve syscall; do
        run "$source" "$kind" thread || fail "$source, $kind in a thread: status $?"
        made=$((made + turns))
    done
    ok "$source: all programs lived"
done
# The signal is one that is ignored where nobody handles it: SIGURG.
try 0 "$mallow" status "$pid"
[ -z "$events" ] || says out 'Hz of page-faults, .* signal 23$'
echo "$made programs were executed"
