#!/bin/bash
# SPDX-License-Identifier: MIT
# places.sh BUILD_DIR -- programs in other namespaces, and /dev/shm missing, read-only or full.
# Root.
source "$(dirname "$0")/lib.bash"
needs pgrep
if [ "$(id -u)" != 0 ] || ! unshare -m -p -f true 2>/dev/null; then
    skip "it takes root, and namespaces"
fi
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
try 0 "$mallow" stop --wait 60 "$pid"
says out "pid $pid: already off since"
ok "a process in another mount and pid namespace"
exec {to}>&- {from}<&-

# One with a root of its own, too, whose program and library are nowhere else, and whose /dev/shm is
# mounted for it alone: a container without its engine.
root=$work/root
mkdir -p "$root"/{bin,opt,etc,proc,tmp,dev/shm}
cp phases "$root/bin/inner"
cp "$build/lib/libmallow.so" "$root/opt/"
echo /opt/libmallow.so >"$root/etc/ld.so.preload"
for library in $(ldd phases | grep -o '/[^ ]*'); do
    install -D "$library" "$root$library"
done
rm -f to from
mkfifo to from
unshare -m -p -f -u -i -n -C bash -c \
    "mount -t tmpfs none '$root/dev/shm'; mount -t proc none '$root/proc'
    export MALLOW_CONF=prof_sample:1,prof_state_min:0,background_thread:true,dump_name:/tmp/%e.%r.pb
    exec chroot '$root' /bin/inner" \
    <to >from &
started+=($!)
exec {to}>to {from}<from
printf a >&"$to"
read -r -t 60 _ <&"$from"
pid=$(pgrep -P $! -x inner)
[ -n "$pid" ] || fail "no process in the container"
started+=("$pid")
try 0 "$mallow" ls --name '^inner$'
says out "^ +$pid running .*inner"
try 0 "$mallow" status "$pid"
says out "state file /proc/$pid/root/dev/shm/mallow-0/1\.[0-9]+\.[0-9]+ "
state=$(sed -n 's/ *state file \([^ ]*\).*/\1/p' out)
try 0 "$mallow" report "$state"
try 0 "$mallow" report "$pid"
says out 'phase_a .*/phases.c:'
try 0 "$mallow" dump -o dump.pb.gz "$pid"
# Containers begin with process 1: files are named by the number seen from here.
mkdir here
try 0 "$mallow" dump -o here/ "$pid"
says err "profile written: here/mallow.inner.$pid\."
rm phases
try 0 "$mallow" report dump.pb.gz
says out 'phase_a '
# All its threads wait: the background thread sees the requests.
try 0 "$mallow" stop --wait 30 "$pid"
says_not out 'takes effect'
try 0 "$mallow" dump --in-process "$pid"
says err "the process wrote /proc/$pid/root/tmp/inner.order.pb"
try 0 "$mallow" report --sysroot "/proc/$pid/root" "/proc/$pid/root/tmp/inner.order.pb"
says out 'phase_a '
ok "a process with a root of its own"
