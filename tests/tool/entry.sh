#!/bin/bash
# SPDX-License-Identifier: MIT
# entry.sh BUILD_DIR -- `mallow leaks` has a process answer that does not allocate, whatever the
# name of the library in it, and where its file, its state file's name or its mounts are. A library
# that is not this command's is not entered.
source "$(dirname "$0")/lib.bash"
needs python3 pgrep
cc -g -O1 -o poller "$here/poller.c" || fail "cc"

# asleep COMMAND...: the poller behind it, whose pid is in $pid and which ends with $input.
asleep() {
    rm -f ready pipe
    mkfifo pipe
    MALLOW_CONF=prof_state_min:0,background_thread:false "$@" <pipe >ready 2>/dev/null &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
    await 60 grep -qs ready ready
}
# answers WHAT: its leaks are found, and it goes on.
answers() {
    await 60 is_known "$pid"
    try 1 "$mallow" leaks --wait 60 "$pid"
    says out '(2000|199[0-9]) blocks leaked'
    exec {input}>&-
    wait "$pid" || fail "$1: the program ended with status $?"
    ok "$1"
}

for library in libmallow.so libmallow_secure.so libmallow_debug.so; do
    asleep env LD_PRELOAD="$build/lib/$library" ./poller
    answers "$library"
done
cp "$build/lib/libmallow.so" libjemalloc.so.2
asleep env LD_PRELOAD=./libjemalloc.so.2 ./poller
answers "another name"
asleep env LD_PRELOAD=./libjemalloc.so.2 ./poller
rm libjemalloc.so.2
answers "its file is gone, as after an upgrade"

cc -g -O1 -o linked "$here/poller.c" "$build/lib/libmallow.a" -pthread || fail "cc"
asleep ./linked
answers "libmallow.a"
cc -O1 -no-pie -s -o stripped "$here/poller.c" "$build/lib/libmallow.a" -pthread || fail "cc"
asleep ./stripped
answers "libmallow.a, without symbols, at a fixed address"
cc -O1 -static -Wl,--gc-sections -o whole "$here/poller.c" "$build/lib/libmallow.a" || fail "cc"
asleep ./whole
answers "libmallow.a, static"
# The program's own malloc comes before the preloaded library's, which is loaded and does nothing.
# Each has a state file, and the library answers whose file is read.
asleep env LD_PRELOAD="$build/lib/libmallow_debug.so" ./linked
for file in "/dev/shm/mallow-$(id -u)/$pid".*; do
    "$mallow" leaks "$file" >out 2>err
    [ $? != 2 ] || fail "$file: the process does not answer"
done
exec {input}>&-
wait "$pid" || fail "two libraries: status $?"
ok "two libraries in one process"

# The bytes of the code differ, as in a library of another version.
python3 - "$build/lib/libmallow.so" other.so <<'END' || fail "python3"
import sys
text = bytearray(open(sys.argv[1], "rb").read())
at = text.index(bytes.fromhex("415f48cf"))  # pop %r15; iretq
assert text.find(bytes.fromhex("415f48cf"), at + 1) < 0
text[at + 2:at + 4] = b"\xf3\x90"  # pause
open(sys.argv[2], "wb").write(text)
END
asleep env LD_PRELOAD=./other.so ./poller
await 60 is_known "$pid"
try 2 "$mallow" leaks --wait 1 "$pid"
one_line_error
says err "cannot be woken: no library in it has the code"
exec {input}>&-
wait "$pid" || fail "the program with another library ended with status $?"
ok "code that this command does not know"

cc -g -O1 -o headless "$here/headless.c" -pthread || fail "cc"
asleep env LD_PRELOAD="$build/lib/libmallow.so" ./headless
has_no_head() { grep -q '^State:.Z' "/proc/$pid/status"; }
await 60 has_no_head
await 60 is_known "$pid"
for command in 'set rate=64k' 'dump -o /dev/null' threads doctor; do
    # shellcheck disable=SC2086 # words
    "$mallow" $command "$pid" >out 2>err
    [ $? != 2 ] || fail "$command"
done
answers "its first thread has ended"
! grep 'blocks every signal' out || fail "a thread that has ended counts as one that runs"

# The thread that answers has to wait for another one, which blocks the signal that is to stop it.
cc -g -O1 -o traced_thread "$here/traced_thread.c" -pthread || fail "cc"
asleep env LD_PRELOAD="$build/lib/libmallow.so" ./traced_thread
answers "another tool traces a thread that blocks every signal"
says out '1 thread blocks every signal'

if [ -z "${MALLOW_TEST_OWN_PIDS:-}" ]; then
    leave_out "containers take root"
    exit
fi
asleep env LD_PRELOAD="$build/lib/libmallow.so" ./poller
rm /dev/shm/mallow-0/*
answers "its state file has no name any more"
# No file in /dev/shm: a file without a name.
# shellcheck disable=SC2016 # for the inner shells
asleep unshare --mount bash -c 'mount --bind /proc/self/fd /dev/shm; exec "$@"' -- \
    env -u XDG_RUNTIME_DIR LD_PRELOAD="$build/lib/libmallow.so" ./poller
answers "its state file never had a name"
# shellcheck disable=SC2016
asleep unshare --mount --pid --fork --kill-child --mount-proc bash -c \
    'mount -t tmpfs tmpfs /dev/shm; exec "$@"' -- \
    env LD_PRELOAD="$build/lib/libmallow.so" ./poller
pid=$(pgrep -x -n poller)
await 60 is_known "$pid"
try 1 "$mallow" leaks --wait 60 "$pid"
says out '(2000|199[0-9]) blocks leaked'
exec {input}>&-
await 60 has_ended "$pid"
ok "a container with mounts and pids of its own"
