#!/bin/bash
# SPDX-License-Identifier: MIT
# leak_faults.sh BUILD_DIR -- `mallow leaks` where something is in its way: memory that is kept out
# of copies, filters of system calls, no process for the copy, the copy killed, the process killed,
# a debugger.  Each time one clear line, and the process goes on.
source "$(dirname "$0")/lib.bash"
cc -g -O1 -o places "$here/leak_places.c" || fail "cc"

# launch PLACE [PREFIX...]: its pid is in $pid; it ends when descriptor $input is closed.
launch() {
    rm -f ready pipe
    mkfifo pipe
    "${@:2}" env MALLOW_CONF=prof_state_min:0 "LD_PRELOAD=$build/lib/libmallow.so" \
        ./places "$1" <pipe >ready &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
    await 60 grep -qs ready ready
    await 60 is_known "$pid"
}
# The program has noticed nothing.
ends_well() {
    exec {input}>&-
    wait "$pid" || fail "$1: status $? of the program"
}

for place in dontfork wipeonfork; do
    launch "$place"
    "$mallow" leaks "$pid" >out 2>err
    # Without the right to read another process the copy says how much it could not read.
    if ! grep -q ': no leaks' out; then
        says out '100 blocks leaked'
        says out '^  note .* could not be read: what only they lead to counts as leaked$'
    fi
    ends_well "$place"
done
ok "memory that is kept out of copies"

launch shared
try 1 "$mallow" leaks --wait 60 "$pid"
says out ': 100 blocks leaked'
try 0 "$mallow" leaks --wait 60 --shared "$pid"
says out ': no leaks'
ends_well shared
ok "memory that is shared counts with --shared"

launch filter
try 2 "$mallow" leaks "$pid"
one_line_error
says err "^mallow: pid $pid: no leak check: its threads cannot be stopped: the program filters"
ends_well filter
# The filter ends the copy alone.
launch filter-outside
try 2 "$mallow" leaks "$pid"
one_line_error
says err "^mallow: pid $pid: no leak check: the copy .* was ended: .* filter of system calls"
ends_well filter-outside
ok "a program that filters system calls"

# A search of 20 million blocks takes more than a second.
launch large
copy_of() { sed 's/ .*//' "/proc/$1/task/$1/children"; }
"$mallow" leaks "$pid" >out 2>err &
checking=$!
await 60 grep -q . "/proc/$pid/task/$pid/children"
kill -9 "$(copy_of "$pid")"
wait "$checking"
[ $? = 2 ] || fail "the copy was killed, and the status is not 2"
one_line_error
says err "^mallow: pid $pid: no leak check: the copy of the process, which searches, was ended"
try 0 "$mallow" leaks --wait 60 "$pid"
says out ': no leaks'
ok "the copy is killed, and the next check is well"

# The copy of the check before is gone.
has_no_child() { ! grep -q . "/proc/$pid/task/$pid/children"; }
await 60 has_no_child
"$mallow" leaks "$pid" >out 2>err &
checking=$!
await 60 grep -q . "/proc/$pid/task/$pid/children"
copy=$(copy_of "$pid")
kill -9 "$pid"
wait "$checking"
[ $? = 2 ] || fail "the process was killed, and the status is not 2"
one_line_error
says err "^mallow: pid $pid: the process ended during the check, after [0-9.]+ s$"
copy_is_gone() { ! grep -qs '^State:.[^Z]' "/proc/$copy/status"; }
await 10 copy_is_gone
exec {input}>&-
ok "the process is killed, and its copy ends"

# The copy searches on after its parent has executed another program.
cat >executes.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t is_over;
static void on_signal(int number) {
	is_over = number;
}
enum { COUNT = 300000 };
static void *volatile kept[COUNT];
__attribute__((noinline)) static void allocate(void) {
	for (int i = 0; i < COUNT; i++)
		kept[i] = memset(malloc(100), 1, 100);
}
int main(int argc, char **argv) {
	signal(SIGUSR2, on_signal);
	allocate();
	if (argc < 2 || write(1, "ready\n", 6) != 6)
		return 1;
	while (!is_over)
		usleep(1000);
	execv(argv[1], argv + 1);
	return 1;
}
END
cc -g -O1 -fno-builtin -o executes executes.c || fail "cc"
for how in '' '--growth 1h'; do
    rm -f ready
    MALLOW_CONF=prof_state_min:0,prof_sample:4K,background_thread:true \
        LD_PRELOAD=$build/lib/libmallow.so ./executes "$(type -P sleep)" 1000 >ready &
    pid=$!
    started+=("$pid")
    await 60 grep -qs ready ready
    await 60 is_known "$pid"
    # Stopped before it has searched. Its policy is SCHED_IDLE; another child stops threads.
    stop_copy() {
        local copies
        read -r -a copies <<<"$(cat "/proc/$pid/task/"*/children)"
        for copy in ${copies[@]+"${copies[@]}"}; do
            [ "$(sed 's/.*) //' "/proc/$copy/stat" | cut -d' ' -f39)" = 5 ] &&
                kill -STOP "$copy" && grep -q '^State:.[Tt]' "/proc/$copy/status" && return
        done
        return 1
    }
    while true; do
        # shellcheck disable=SC2086 # words
        "$mallow" leaks $how "$pid" >out 2>err &
        checking=$!
        until stop_copy 2>/dev/null || has_ended "$checking"; do :; done
        has_ended "$checking" || break
        wait "$checking"
    done
    kill -USR2 "$pid"
    await 60 grep -qx sleep "/proc/$pid/comm"
    kill -CONT "$copy"
    wait "$checking"
    status=$?
    [ "$status" -lt 2 ] || fail "leaks $how: status $status"
    says err "^mallow: note: pid $pid: the process started another program \(exec\) meanwhile, "
    says out "^executes \(pid $pid\): .* blocks"
    kill "$pid"
done
ok "the process executes another program, and the check goes on"

# The result of a check is in the state file.
if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016 # for the inner shell
    launch shared unshare --mount bash -c 'mount -t tmpfs -o size=2m none /dev/shm; exec "$@"' --
    head -c 2m /dev/zero >"/proc/$pid/root/dev/shm/other" 2>/dev/null || true
    try 2 "$mallow" leaks "$pid"
    one_line_error
    says err "^mallow: pid $pid: no leak check: the file system of its state file .* has no room"
    ends_well "no room"
    ok "the state file's file system is full"
fi

# A control group at its limit: the copy is ended, not the process.
group='' limit='' usage=''
if mkdir "/sys/fs/cgroup/memory/mallow-$$" 2>/dev/null; then
    group=/sys/fs/cgroup/memory/mallow-$$ limit=memory.limit_in_bytes usage=memory.usage_in_bytes
elif mkdir "/sys/fs/cgroup/mallow-$$" 2>/dev/null; then
    group=/sys/fs/cgroup/mallow-$$ limit=memory.max usage=memory.current
fi
[ -z "$group" ] || endings+=("rmdir $group")
if [ -n "$group" ] && [ -w "$group/$limit" ]; then
    # shellcheck disable=SC2016 # for the inner shell
    launch large bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group"
    [ ! -w "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"
    echo $(($(cat "$group/$usage") + 4000000)) >"$group/$limit"
    try 2 "$mallow" leaks "$pid"
    one_line_error
    says err "^mallow: pid $pid: no leak check: the (copy .* was ended|kernel refused memory)"
    ends_well "a control group's limit"
    ok "a control group at its limit"
fi

# Root has no limit of processes.  The limit counts the user's processes on the whole machine: a
# user that no other test is.
user=$((200000 + SRANDOM % 1000000000))
if [ "$(id -u)" = 0 ] && setpriv --reuid "$user" --clear-groups true 2>/dev/null; then
    share_build
    launch shared prlimit --nproc=1 setpriv --reuid "$user" --regid "$user" --clear-groups --
    try 2 "$mallow" leaks "$pid"
    one_line_error
    says err "^mallow: pid $pid: no leak check: the kernel refused memory for a copy"
    ends_well "no process"
    ok "the kernel refuses the copy"
fi
