#!/bin/bash
# SPDX-License-Identifier: MIT
# privileges.sh BUILD_DIR -- what ptrace refuses, mallow refuses: a process that may do more than
# its user publishes nothing that this user can read, and takes no requests.
source "$(dirname "$0")/lib.bash"
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip "it takes root and setpriv to have more than a user"
fi
user=65534
share_build
cc -O1 -o program "$here/privileges.c" || fail "privileges.c does not compile"
mkfifo to from
chmod 666 to from

# start COMMAND...: the program behind COMMAND, preloaded; its pid is in `pid`.
start() {
    LD_PRELOAD=$build/lib/libmallow.so \
        MALLOW_CONF=prof_sample:4096,prof_state_min:0,background_thread:false \
        "$@" "$work/program" <to >from &
    pid=$!
    started+=("$pid")
    exec {to}>to {from}<from
}
# tell LETTER: the program does it.
tell() {
    printf %s "$1" >&"$to"
    read -r -n1 -t 20 answer <&"$from"
    [ "$answer" = "$1" ] || fail "the program did not do $1"
}
finish() {
    printf q >&"$to"
    wait "$pid" || fail "the program failed"
    exec {to}>&- {from}<&-
}
# As the user, who may have a cache and a /dev/shm like everybody.
as_user() {
    setpriv --reuid=$user --regid=$user --clear-groups env XDG_CACHE_HOME=/nonexistent "$@"
}
published() {
    compgen -G "/dev/shm/mallow-$user/$pid.*" >/dev/null
}
# The user neither reads nor sends requests; root does both.
refused() {
    ! published || fail "$1 publishes to its user"
    try 2 as_user "$mallow" set dump_name="/root/%p" "$pid"
    try 2 as_user "$mallow" report "$pid"
    says err 'only root with CAP_SYS_PTRACE can see its profile'
    try 0 "$mallow" status "$pid"
    try 0 "$mallow" report "$pid"
}

as_user "$mallow" --version >out 2>err || fail "another user cannot run the command"

# A plain process of the user's: as ever.
start setpriv --reuid=$user --regid=$user --clear-groups
tell a
published || fail "a plain process does not publish"
try 0 as_user "$mallow" set --wait 60 dump_name="/tmp/%p.pb" "$pid"
try 0 as_user "$mallow" report "$pid"
ok "a plain process publishes to its user, and obeys"

# It may not be dumped any more: ptrace refuses now, and so does mallow.  A link that the user made
# before keeps the file within reach, but no request.
kept=/dev/shm/mallow-$user/kept
file=$(compgen -G "/dev/shm/mallow-$user/$pid.*")
as_user ln "$file" "$kept" || fail "ln"
tell d
refused "a process that forbade to dump it"
# Without a background thread, requests wait until the program allocates.
as_user "$mallow" set dump_name="/root/%p" "$kept" >out 2>err
tell a
as_user "$mallow" set rate=1M "$kept" >out 2>err &
request=$!
while kill -0 "$request" 2>/dev/null; do
    tell a
    sleep 0.05
done
wait "$request"
[ $? = 2 ] || fail "the request is not refused"
try 0 "$mallow" status "$pid"
says_not out /root/
tell D
! published || fail "the file has its name again"
try 0 as_user "$mallow" set --wait 60 dump_name="/tmp/again.%p.pb" "$kept"
tell a
try 0 "$mallow" status --json "$pid"
says out /tmp/again
rm -f "$kept"
finish
ok "a process that may not be dumped publishes to root alone, and takes no requests"

# Groups by the hundred stand before the capabilities in /proc.
start setpriv --reuid=$user --regid=$user --groups="$(seq -s, 100000 100400)"
tell a
published || fail "a process with many groups does not publish"
finish
ok "a plain process with many groups"

# Ambient capabilities outlive execve without making the loader careful.
start setpriv --reuid=$user --regid=$user --clear-groups --inh-caps=+dac_override \
    --ambient-caps=+dac_override
tell a
refused "a process with capabilities"
finish
ok "a process with ambient capabilities"

# A server that was root: the kernel does not let it be dumped.
start env
tell u
tell a
refused "a server that was root"
finish
ok "a process that set its user"

# Other ids than the effective ones: it can become somebody else again.
start setpriv --ruid=0 --euid=$user --regid=$user --clear-groups
tell a
! published || fail "a process that can become root again publishes to its user"
finish
ok "a process with several users"

# A set-uid program has a file of no sort, whoever asks.
cc -O1 -o owned "$here/privileges.c" "$build/lib/libmallow.a" -pthread || fail "cc"
chmod 4755 owned
# begin COMMAND...: the set-uid program behind COMMAND.
begin() {
    "$@" setpriv --reuid=$user --regid=$user --clear-groups "$work/owned" <to >from &
    pid=$!
    started+=("$pid")
    exec {to}>to {from}<from
}
begin env
tell a
if ! grep -q "^Uid:.$user.0.0" "/proc/$pid/status"; then
    leave_out "the file system has no set-uid programs (nosuid)"
    finish
    exit
fi
for command in status leaks 'set rate=64k' stop; do
    # shellcheck disable=SC2086 # words
    try 2 "$mallow" $command "$pid"
    one_line_error
    says err "the process runs mallow, but has no profile: it is set-uid"
done
finish
begin env MALLOW_CONF=prof_state_min:0 "LD_PRELOAD=$build/lib/libmallow.so"
tell a
try 0 "$mallow" status "$pid"
says err "started another program \(owned\), which has no profile: it is set-uid"
finish
ok "a set-uid program has no profile, and the reason is said"
