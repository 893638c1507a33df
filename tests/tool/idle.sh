#!/bin/bash
# SPDX-License-Identifier: MIT
# idle.sh BUILD_DIR -- requests and dumps of processes all of whose threads sleep: with the option
# background_thread at once, without it when somebody allocates.
source "$(dirname "$0")/lib.bash"
cc -g -O1 -pthread -o idle "$here/idle.c" || fail "cc"

# launch CONF [ARGUMENT]: its pid is in $pid; returns when its threads sleep.
launch() {
    rm -f ready
    MALLOW_CONF=prof_sample:1,prof_state_min:0,$1 LD_PRELOAD=$build/lib/libmallow.so ./idle \
        "${2:-}" >ready 2>idle.err &
    pid=$!
    started+=("$pid")
    await 60 grep -q ready ready
}

# appears PATTERN: within a minute a whole dump of that name is there.
appears() {
    await 60 compgen -G "$1" >/dev/null
}

obeys() {
    try 0 "$mallow" stop --wait 30 "$pid"
    says out "^pid $pid: off, T = 1 .*was on"
    says_not out 'takes effect'
    try 0 "$mallow" reset --wait 30 "$pid"
    says_not out 'takes effect'
    try 0 "$mallow" set --wait 30 "$pid" dump_name="$work/$1.%r.%n.pb" dump_keep=2
    says_not out 'takes effect'
    try 0 "$mallow" dump --in-process "$pid"
    appears "$work/$1.order.*.pb"
    try 0 "$mallow" report "$(compgen -G "$work/$1.order.*.pb" | sed -n 1p)"
    try 0 "$mallow" set --wait 30 "$pid" dump_seconds=1
    appears "$work/$1.time.*.pb"
    # The sleepers cannot have seen it, and that is said; how many they are, too.
    try 1 "$mallow" start --strict --wait 2 "$pid"
    says out "^pid $pid: on, T = 1 .*was off"
    says out "^pid $pid: 2 of 2 threads have not allocated for 2 s: they follow once they allocate"
}

launch background_thread:true
obeys new
ok "an idle process with a background thread obeys at once"

launch background_thread:true old-kernel
obeys old
ok "one on a kernel that cannot wait for two words, too"

launch background_thread:true
switches() {
    awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$pid/task/$1/status"
}
thread=$(grep -lx mallow "/proc/$pid/task/"*/comm | sed 's|.*/task/\(.*\)/comm|\1|')
[ -n "$thread" ] || fail "no thread of the name mallow"
# Until freed memory has gone back the thread has work.
sleeps_on() {
    before=$(switches "$thread")
    sleep 2
    [ "$(switches "$thread")" = "$before" ]
}
await 30 sleeps_on
ok "and sleeps as long as nobody wants anything"

launch background_thread:false
try 0 "$mallow" stop --wait 0 "$pid"
says out 'takes effect once the process allocates'
ok "without the thread the request stands until somebody allocates"
if [ "$(uname -m)" = x86_64 ]; then
    try 0 "$mallow" start --wait 30 "$pid"
    says out ': on, T = 1'
    says_not out 'takes effect'
    ok "or the process is woken"
fi

# Most of its three megabytes, in pages and not in samples' slabs, came within the tick of its
# start.
launch background_thread:false,prof_sample:64K
try 0 "$mallow" status "$pid"
says out "in_use_bytes +[23][.0-9]* MiB"
says out 'blocks in use, bytes that the program requested'
ok "a process that grew at once and then sleeps is shown as it is"
