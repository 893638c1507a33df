#!/bin/bash
# SPDX-License-Identifier: MIT
# dropped_root.sh BUILD_DIR -- servers that begin as root and become another user: root may do in
# them what root could do by ptrace(2), that user may not.  A process that rejects a request ends
# each wait for it, and the reason is said.
source "$(dirname "$0")/lib.bash"
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip "it takes root and setpriv"
fi
user=65534
share_build
cc -O1 -o program "$here/privileges.c" || fail "privileges.c does not compile"
mkfifo -m 666 to from

# start COMMAND...: the program behind COMMAND; its pid is in $pid.
start() {
    MALLOW_CONF=prof_sample:4096,prof_state_min:0,background_thread:false \
        "$@" env "LD_PRELOAD=$build/lib/libmallow.so" "$work/program" <to >from &
    pid=$!
    started+=("$pid")
    exec {to}>to {from}<from
}
# tell LETTER: the program does it.
tell() {
    printf %s "$1" >&"$to"
    read -r -n1 -t 60 answer <&"$from"
    [ "$answer" = "$1" ] || fail "the program did not do $1"
}
finish() {
    printf q >&"$to"
    wait "$pid" || fail "the program failed: $?"
    exec {to}>&- {from}<&-
}
as_user() {
    setpriv --reuid=$user --regid=$user --clear-groups env XDG_CACHE_HOME=/nonexistent "$@"
}
# while_busy STATUS COMMAND...: as try, while the program allocates.
while_busy() {
    local want=$1 got
    shift
    "$@" >out 2>err &
    local command=$!
    while kill -0 "$command" 2>/dev/null; do
        tell a
    done
    wait "$command"
    got=$?
    [ "$got" = "$want" ] || fail "$*: status $got, not $want"
}
# orders: root's are obeyed, the user's are not.
orders() {
    while_busy 0 "$mallow" set rate=64k "$pid"
    says out "pid $pid: T = 64 KiB"
    while_busy 0 "$mallow" stop "$pid"
    while_busy 0 "$mallow" start "$pid"
    while_busy 0 "$mallow" reset "$pid"
    while_busy 0 "$mallow" cpu --for 0.3 "$pid"
    while_busy 0 "$mallow" dump -o dump.pb.gz "$pid"
    try 0 "$mallow" status "$pid"
    for command in leaks 'set rate=32k' 'cpu --for 0.1' stop 'dump -o /dev/null'; do
        # shellcheck disable=SC2086 # words
        try 2 as_user timeout 60 "$mallow" $command "$pid"
        one_line_error
        says err "^mallow: pid $pid \(program\): .*only root with CAP_SYS_PTRACE can see"
    done
    # It sleeps in read(2): the command has it answer.
    begin=$SECONDS
    timeout 300 "$mallow" leaks "$pid" >out 2>err
    [ $? -lt 2 ] || fail "leaks: $(cat err)"
    says out 'no leaks|blocks? leaked'
    # Its own pagemap is closed to it. Read are the pages that it has, and not all of its addresses,
    # among them some of the kernel's; but all are where any memory of the machine is in swap.
    if awk '/^Swap(Total|Free):/ { kb = $2 - kb } END { exit kb != 0 }' /proc/meminfo; then
        says out '^  read .* [KMG]iB of blocks and [0-9.]+ KiB of other memory'
        says_not out 'could not be read|came past malloc'
    fi
    [ $((SECONDS - begin)) -lt 200 ] || fail "leaks took $((SECONDS - begin)) seconds"
}

start env
tell a
tell u
orders
finish
ok "a server that published as root, and became a user"

start env
tell u
tell a
orders
finish
ok "a server that became a user, and published then"

start setpriv --reuid=$user --regid=$user --clear-groups --inh-caps=+net_bind_service \
    --ambient-caps=+net_bind_service
tell a
orders
finish
ok "a user's server with a capability"

# Its user could open the file before: what is written there may be his order. Also root's wait
# ends at once.
start setpriv --reuid=$user --regid=$user --clear-groups
tell a
tell d
for command in leaks 'set rate=32k' stop 'cpu --for 0.1'; do
    # shellcheck disable=SC2086 # words
    while_busy 2 timeout 100 "$mallow" $command "$pid"
    one_line_error
    says err "the process rejected .*it may do more than the user who could open its state file"
done
# Also one that sleeps.
try 2 timeout 100 "$mallow" leaks "$pid"
one_line_error
says err "^mallow: pid $pid: no leak check: the process rejected it: it may do more than the user"
finish
ok "a process that rejects requests"
