#!/bin/bash
# SPDX-License-Identifier: MIT
# places.sh BUILD_DIR -- programs in other namespaces, and /dev/shm missing, read-only or full.  Root.
source "$(dirname "$0")/lib.bash"
[ "$(id -u)" = 0 ] && unshare -m -p -f true 2>/dev/null || exit 77
cc -g -O1 -o phases "$here/phases.c" || fail "cc"
export mallow build work

# inside SCRIPT: a script in a mount namespace of its own.
inside() {
    try 0 unshare -m bash -c "set -e; cd '$work'; $1"
}

# shellcheck disable=SC2016 # for the inner shell
run='echo ataf | "$mallow" run --exact ./phases >answers; ls mallow.phases.*.pb.gz; rm mallow.*'
inside "mount -t tmpfs -o ro none /dev/shm; unset XDG_RUNTIME_DIR; $run"
says err 'phase_a'
inside "mount -t tmpfs none /dev; mknod /dev/null c 1 3; unset XDG_RUNTIME_DIR; $run"
says err 'phase_a'
ok "mallow run without a place for the state file"

inside "mkdir runtime; chmod 700 runtime; export XDG_RUNTIME_DIR=\$PWD/runtime
    mount -t tmpfs -o ro none /dev/shm; $run; ls -d runtime/mallow-0"
says err 'phase_a'
ok "the runtime directory stands in"

inside "mount -t tmpfs -o size=16k none /dev/shm; unset XDG_RUNTIME_DIR; $run"
says err 'phase_a|truncated'
ok "a full /dev/shm costs a part of the profile"

# A process in namespaces of its own, as in a container, seen from here.
mkfifo to from
unshare -m -p -f bash -c "mount -t tmpfs none /dev/shm; mount -t proc none /proc
    MALLOW_CONF=prof_sample:1,prof_state_min:0 LD_PRELOAD='$build/lib/libmallow.so' exec ./phases" \
    <to >from &
started+=($!)
exec {to}>to {from}<from
printf a >&"$to"
read -r _ <&"$from"
pid=$(pgrep -P $!)
[ -n "$pid" ] || pid=$!
try 0 "$mallow" status "$pid"
says out "phases \(pid $pid\): running"
try 0 "$mallow" ls
says out "^ +$pid running .*phases"
try 0 "$mallow" report "$pid"
says out 'phase_a'
try 0 "$mallow" stop "$pid" --wait 0
printf t >&"$to"
read -r _ <&"$from"
try 0 "$mallow" stop "$pid"
says out "pid $pid: already off since"
ok "a process in another mount and pid namespace"
