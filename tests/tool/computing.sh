#!/bin/bash
# SPDX-License-Identifier: MIT
# computing.sh BUILD_DIR -- requests to processes that compute and do not allocate: these are had to
# answer, at any instruction, and compute on as if nothing had been.
source "$(dirname "$0")/lib.bash"
[ "$(uname -m)" = x86_64 ] || skip "on x86-64 only"
cc -g -O1 -pthread -o computing "$here/computing.c" || fail "cc"

# launch ARGUMENT...: its pid is in $pid.
launch() {
    rm -f ready
    MALLOW_CONF=background_thread:false LD_PRELOAD=$build/lib/libmallow.so \
        ./computing "$@" >ready &
    pid=$!
    started+=("$pid")
    await 60 grep -qs ready ready
}
ends_well() {
    kill -TERM "$pid"
    wait "$pid" || fail "$1: registers or memory changed: status $?"
}
# obeys ARGUMENT...: the request is obeyed within the wait.
obeys() {
    try 0 "$mallow" "$@" --wait 30 "$pid"
    says_not out 'pending'
    says_not err 'has not'
}

launch large
try 0 "$mallow" cpu --for 1 --wait 30 "$pid"
says out ' compute$| round_of_(sse|avx)$'
try 0 "$mallow" status "$pid"
says_not out 'CPU time.* on'
ok "CPU time of a process that does not allocate"

for ((i = 0; i < 10; i++)); do
    obeys stop
    says out ': off, '
    obeys start
    says out ': on, '
done
obeys set rate=1M
says out 'T = 1 MiB'
obeys set dump_seconds=1000
obeys reset
obeys start --cpu
says out 'CPU time: on, '
obeys stop --cpu
says out 'CPU time: off'
try 0 "$mallow" dump --in-process "$pid"
says err 'the process wrote '
ends_well "one thread"
launch large 4
for ((i = 0; i < 10; i++)); do
    obeys stop
    obeys start
done
ends_well "four threads"
ok "start, stop, set, reset, dump; registers, flags and red zone stay"

# Its leaks are searched at once, too: not after the half second for which the command once waited.
is_prompt() {
    local begin=${EPOCHREALTIME/./}
    "$mallow" leaks --wait 30 "$pid" >out 2>err
    [ $? -le 1 ] || fail "leaks: $(cat err)"
    [ $((${EPOCHREALTIME/./} - begin)) -lt 500000 ]
}
launch large
# No thread is entered.
try 2 "$mallow" leaks --wait 0 "$pid"
one_line_error
says err 'has not seen the request yet; it will check when it allocates'
try 2 "$mallow" leaks --last "$pid"
await 60 is_prompt
ends_well "leaks"
ok "leaks, in less than half a second"

launch small
obeys stop
says out ': off, '
try 0 "$mallow" report "$pid"
ends_well "small"
ok "a heap below prof_state_min"

launch large
kill -STOP "$pid"
await 60 grep -q '^State:.T' "/proc/$pid/status"
try 2 "$mallow" cpu --for 1 --wait 0.5 "$pid"
one_line_error
says err "^mallow: pid $pid: the process is stopped"
kill -CONT "$pid"
ok "a stopped process"

# Root without CAP_SYS_PTRACE may not trace a process that has it.
if [ "$(id -u)" = 0 ] && setpriv --bounding-set=-sys_ptrace true 2>/dev/null; then
    unable=(setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace)
    try 2 "${unable[@]}" "$mallow" cpu --for 1 --wait 0.5 "$pid"
    one_line_error
    says err 'nothing was sampled: .*may not trace it .*root may, .*background_thread:true'
    try 0 "${unable[@]}" "$mallow" set --wait 0.5 "$pid" dump_seconds=100
    says out 'pending; takes effect once the process allocates \(.*may not trace it .*root may'
    ends_well "not entered"
    ok "a user who may not trace the process"
fi
