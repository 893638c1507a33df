#!/bin/bash
# SPDX-License-Identifier: MIT
# planted.sh BUILD_DIR -- a user plants state files where mallow looks for them. They name a process
# that may do more than he: a set-uid program that he has started. Root looks at that process, and
# nothing that the file says is done in it. Or they name the user's own process, which ends while
# root's command waits for it, and a process of root's gets its pid.
source "$(dirname "$0")/lib.bash"
if [ -z "${MALLOW_TEST_OWN_PIDS:-}" ]; then
    skip "it takes root, a mount namespace and a pid namespace"
fi
needs setpriv
user=65534
share_build
# A file system that every user reaches, where set-uid programs have their rights.
mkdir place
mount -t tmpfs -o mode=755 tmpfs place || fail "mount"
at_end "umount -l $work/place"
mount -t tmpfs -o mode=755 tmpfs /run || fail "mount"
install -d -m 700 -o $user -g $user "/run/user/$user" || fail "install"
cc -O1 -no-pie -o place/alone "$here/poller.c" || fail "cc"
cc -O1 -no-pie -o place/linked "$here/poller.c" "$build/lib/libmallow.a" -pthread || fail "cc"
cc -O1 -D_GNU_SOURCE -I"$here/../../src" -o place/planter "$here/planter.c" || fail "cc"
cp place/alone place/model
chmod u+s place/alone place/linked
as_user=(setpriv "--reuid=$user" "--regid=$user" --clear-groups)

# begin NAME COMMAND...: in the background, with its output in file NAME; it ends with $input.
begin() {
    local name=$1
    shift
    rm -f "$name" "$name.err" pipe && mkfifo -m 666 pipe
    "$@" <pipe >"$name" 2>"$name.err" &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
}
victim() {
    begin victim "${as_user[@]}" "$work/place/$1"
    victim=$pid
    await 60 grep -qs ready victim
    grep -q "^Uid:.$user.0" "/proc/$victim/status" || fail "$1 is not set-uid"
}
# plant DIRECTORY COMMAND...: the planter runs behind COMMAND, and its file names the victim.
plant() {
    local directory=$1
    shift
    begin planted "$@" "$work/place/planter" "$directory" "$work/place/model.state" "$victim" \
        "$(nm "place/$kind" | awk '$3 == "door" { print $1 }')"
    await 60 grep -qs . planted planted.err
    grep -qs planted planted || fail "no file is planted: $(cat planted.err)"
}
# Each command that sends requests to the process, or looks into it.  The library in a set-uid
# program makes no file, and the user's is no file of the process.
look() {
    local command status says="the process does not run mallow"
    [ "$kind" = alone ] || says="the process runs mallow, but has no profile: it is set-uid"
    for command in 'leaks --wait 3' 'set rate=64k' 'cpu --for 0.1' stop reset dump mark threads \
        report doctor status; do
        # shellcheck disable=SC2086 # words
        timeout 60 "$mallow" $command "$victim" >out 2>err
        status=$?
        ! grep -q entered victim || fail "$command: the victim went where the user wanted"
        kill -0 "$victim" 2>/dev/null || fail "$command: the victim has ended"
        if [ "$kind $command" = 'alone cpu --for 0.1' ]; then
            # The kernel samples it, whatever the file says.
            says err "^mallow: pid $victim: .*(from outside|not permit|no samples of CPU time)"
        elif [ "$command" != doctor ]; then
            [ "$status" = 2 ] || fail "$command: status $status"
            one_line_error
            says err "^mallow: pid $victim \($kind\): $says"
        fi
    done
    try 0 "$mallow" ls --all
    says_not out "^ *$victim running"
}

begin model "${as_user[@]}" env "LD_PRELOAD=$build/lib/libmallow.so" MALLOW_CONF=prof_state_min:0 \
    "$work/place/model"
await 60 is_known "$pid"
cp --sparse=always "/dev/shm/mallow-$user/$pid".* place/model.state
chmod 644 place/model.state
# shellcheck disable=SC2016 # for the inner shell
container=("${as_user[@]}" unshare --user --map-root-user --mount bash -c
    'mount -t tmpfs tmpfs /dev/shm && exec "$@"' --)
"${container[@]}" true 2>/dev/null || container=()
for kind in alone linked; do
    for directory in "/dev/shm/mallow-$user" "/run/user/$user/mallow-$user" container; do
        [ "$directory" != container ] || [ "${#container[@]}" -gt 0 ] || {
            leave_out "a user's container: the kernel refuses it"
            continue
        }
        victim "$kind"
        if [ "$directory" = container ]; then
            plant "/dev/shm/mallow-$user" "${container[@]}"
        else
            plant "$directory" "${as_user[@]}"
        fi
        look
        exec {input}>&-
        wait "$pid"
        kill -9 "$victim"
        wait "$victim" 2>/dev/null
        ok "$kind: a file in ${directory%/*}"
    done
done

# next_is PID COMMAND...: starts it in the background, with this pid.  False: it got another one.
next_is() {
    local wanted=$1
    shift
    rm -f victim
    echo $((wanted - 1)) >/proc/sys/kernel/ns_last_pid || return
    "$@" <pipe >victim 2>/dev/null &
    [ $! = "$wanted" ] && return
    kill -9 $!
    wait $! 2>/dev/null
    return 1
}
if ! echo 20000 2>/dev/null >/proc/sys/kernel/ns_last_pid; then
    leave_out "a pid that another process gets: the kernel does not let pids be chosen"
    exit
fi
kind=model
victim=0
plant "/dev/shm/mallow-$user" "${as_user[@]}"
victim=$pid
timeout 60 "$mallow" leaks --wait 20 --limit 20s "$victim" >out 2>err &
asking=$!
# The request is in the file: the sequence is the control section's first word.
sequence() {
    od -An -j4096 -N4 -tu4 "/dev/shm/mallow-$user/$victim".* | tr -d ' '
}
before=$(od -An -j4096 -N4 -tu4 place/model.state | tr -d ' ')
has_request() { [ "$(sequence)" != "$before" ]; }
await 60 has_request
sleep 1
rm -f pipe && mkfifo pipe && exec {input}<>pipe
kill -9 "$victim"
wait "$victim" 2>/dev/null
await 60 next_is "$victim" place/model
started+=("$victim")
await 60 grep -qs ready victim
wait "$asking"
[ $? = 2 ] || fail "leaks waits for another process: status not 2"
! grep -q entered victim || fail "the process that got the pid went where the user wanted"
kill -0 "$victim" || fail "the process that got the pid has ended"
says err "^mallow: pid $victim: the process ended during the check"
ok "a pid that another process gets"
