#!/bin/bash
# SPDX-License-Identifier: MIT
# leak_copy.sh BUILD_DIR -- the copy of a process that searches for leaks: it leaves no entry in the
# kernel's table of processes, also of a process that sleeps on, that is the first of its container,
# or that becomes the parent of others' children; the program sees no child and no signal; the copy
# holds no file of the program open; it ends with the command, the process and itself killed in the
# middle.
source "$(dirname "$0")/lib.bash"
needs python3 pgrep
library=$build/lib/libmallow.so
cc -g -O1 -o copied "$here/copied.c" || fail "cc"
[ "$(uname -m)" = x86_64 ] || leave_out "a sleeping process is woken on x86-64"

# launch PREFIX... -- ARGUMENT...: the program, whose pid is in $pid and which ends with $input.
launch() {
    local prefix=()
    while [ "$1" != -- ]; do
        prefix+=("$1")
        shift
    done
    shift
    exec {input}>&-
    rm -f told pipe
    mkfifo pipe
    ${prefix[@]+"${prefix[@]}"} env LD_PRELOAD="$library" \
        MALLOW_CONF=prof_state_min:0,$conf ./copied "$@" <pipe >told 2>said &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
    await 60 grep -qs ready told
    await 60 is_known "$pid"
}
finish() {
    exec {input}>&-
    wait "$pid" || fail "$1: the program ended with status $?: $(cat told)"
}
children() { cat "/proc/$pid/task/"*/children 2>/dev/null; }
has_no_child() { [ -z "$(children)" ]; }
has_no_thread() { [ "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ]; }
# The sequence of requests, with which the control section of a state file begins.
sequence() { od -An -j4096 -N4 -tu4 "/dev/shm/mallow-$(id -u)/$pid".* | tr -d ' '; }
exec {input}>/dev/null
conf=background_thread:false

for how in plain reaper; do
    launch -- 1 $how
    before=$(sequence)
    for i in 1 2 3; do
        try 1 "$mallow" leaks --wait 60 "$pid"
        says out '^copied .*: (100|9[0-9]) blocks leaked'
        await 60 has_no_child
        await 60 has_no_thread
        [ "$(sequence)" = $((before + i)) ] || fail "$how: a check takes more than one request"
    done
    finish "$how"
done
ok "a process that sleeps, and one that becomes the parent of others' children"

conf=background_thread:true
launch -- 1 strict
try 1 "$mallow" leaks --wait 60 "$pid"
await 60 has_no_child
finish "a thread that may not wait"
conf=background_thread:false
ok "a program whose filter forbids a thread to wait for others"

# Two at once: the second one is begun when the first has ended.
launch -- 1
"$mallow" leaks --wait 60 --json "$pid" >first 2>err &
one=$!
"$mallow" leaks --wait 60 --json "$pid" >second 2>>err &
two=$!
for command in $one $two; do
    wait "$command"
    [ $? = 1 ] || fail "two checks at once: $(cat err)"
done
finish "two at once"
ok "two checks at once"

# The search is in the middle: it has the processor only while a busy loop has not, and is stopped.
cat >catch.py <<'END'
import glob, os, signal, sys, time
limit = time.monotonic() + 60
print("ready", flush=True)
while time.monotonic() < limit:
    for path in glob.glob("/proc/%s/task/*/children" % sys.argv[1]):
        for child in open(path).read().split():
            # The copy has begun to search when it is in the idle class (field 41 is 5).
            if open("/proc/%s/stat" % child).read().rsplit(")")[1].split()[38] != "5":
                continue
            os.kill(int(child), signal.SIGSTOP)
            while open("/proc/%s/stat" % child).read().rsplit(")")[1].split()[0] != "T":
                time.sleep(0.001)
            print(child)
            sys.exit(0)
sys.exit("no copy was seen")
END
processor=$(taskset -cp $$ | sed 's/.*[ ,-]//')
# begin_check: the command is $asking, and the copy, which is stopped, $copy.
begin_check() {
    await 60 has_no_child
    python3 catch.py "$pid" >caught &
    local catching=$!
    await 60 grep -q ready caught
    taskset -c "$processor" bash -c 'while :; do :; done' &
    local busy=$!
    started+=("$busy")
    "$mallow" leaks --wait 60 "$pid" >out 2>err &
    asking=$!
    wait $catching || fail "no copy is caught: $(cat err)"
    kill "$busy"
    wait "$busy" 2>/dev/null
    copy=$(sed -n 2p caught)
}

# A descriptor that the program closes is closed, though the copy had it, too.
mkfifo closed
cat closed >/dev/null &
reader=$!
# shellcheck disable=SC2016 # for the inner shell
launch taskset -c "$processor" bash -c 'exec "$@" 9>closed' bash -- 64
begin_check
printf c >&"$input"
await 20 has_ended "$reader"
kill -CONT "$copy"
wait "$asking"
[ $? = 1 ] || fail "the check, stopped meanwhile: $(cat err)"
ok "a descriptor that the program closes"

# The command: the search goes on.
begin_check
kill -9 "$asking"
wait "$asking" 2>/dev/null
kill -CONT "$copy"
await 60 has_no_child
try 1 "$mallow" leaks --last "$pid"
ok "kill -9 of the command"

# The copy: it is said at once, and the next check is fine.
begin_check
kill -9 "$copy"
wait "$asking"
[ $? = 2 ] || fail "the copy was killed, and the command does not fail"
one_line_error
says err 'the copy of the process, which searches, was ended'
await 60 has_no_child
try 2 "$mallow" leaks --last "$pid"
says err 'or the check failed'
try 1 "$mallow" leaks --wait 60 "$pid"
await 60 has_no_child
finish "copies that were killed"
ok "kill -9 of the copy"

# The process.
launch taskset -c "$processor" -- 64
begin_check
kill -9 "$pid"
wait "$pid" 2>/dev/null
kill -CONT "$copy"
wait "$asking"
[ $? = 2 ] || fail "the process was killed, and the command does not fail"
one_line_error
says err 'the process ended during the check'
await 60 has_ended "$copy"
ok "kill -9 of the process"

if [ -z "${MALLOW_TEST_OWN_PIDS:-}" ]; then
    leave_out "containers take root"
    exit
fi
# The first process of a container becomes the parent of all children whose parent ends.
exec {input}>&-
rm -f told pipe
mkfifo pipe
# shellcheck disable=SC2016 # for the inner shell
unshare --mount --pid --fork --kill-child --mount-proc bash -c 'mount -t tmpfs tmpfs /dev/shm
    exec "$@"' -- env LD_PRELOAD="$library" MALLOW_CONF=prof_state_min:0,$conf ./copied 1 \
    <pipe >told &
container=$!
started+=("$container")
exec {input}>pipe
await 60 grep -qs ready told
pid=$(pgrep -x -n copied)
await 60 is_known "$pid"
try 1 "$mallow" leaks --wait 60 "$pid"
await 60 has_no_child
exec {input}>&-
wait "$container" || fail "the first process of a container ended with $?: $(cat told)"
ok "the first process of a container"
