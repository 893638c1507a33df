#!/bin/bash
# SPDX-License-Identifier: MIT
# silent.sh BUILD_DIR -- requests to processes that do not answer: one that is stopped, ends, or
# executes another program meanwhile is named in one line, with status 2.
source "$(dirname "$0")/lib.bash"
library=$build/lib/libmallow.so
cc -g -O1 -fno-builtin -o leases "$here/leases.c" || fail "cc"

# begin [WORD...]: a process that computes and does not allocate; its pid is in $pid.
begin() {
    MALLOW_CONF=prof_state_min:0,background_thread:false LD_PRELOAD=$library ./leases "$@" &
    pid=$!
    started+=("$pid")
    await 60 is_known "$pid"
    kill -USR1 "$pid"
    await 60 grep -qx quiet "/proc/$pid/comm"
}
kill_it() {
    kill -9 "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
}
is_stopped() { grep -q '^State:.T' "/proc/$pid/status"; }

# ask COMMAND...: in the background, as $asking, and waits until its request is in the state file,
# whose control section begins with the sequence.
sequence() { od -An -j4096 -N4 -tu4 "/dev/shm/mallow-$(id -u)/$pid".*; }
has_asked() { [ "$(sequence)" != "$before" ]; }
ask() {
    before=$(sequence)
    "$@" >out 2>err &
    asking=$!
    await 60 has_asked
}
# answered PATTERN: the command ends with 2 and says one line.
answered() {
    local status
    wait "$asking"
    status=$?
    [ "$status" = 2 ] || fail "status $status, not 2"
    one_line_error
    says err "$1"
    says_not out pending
}

# "start" and "stop --cpu" change nothing in a process that has got no other request before.
changes=('set rate=1M' 'set dump_seconds=1000' stop reset 'start --cpu' 'stop --strict'
    'start --for 600s -o out.pb.gz' 'cpu --for 600s')
begin
kill -STOP "$pid"
await 60 is_stopped
for request in "${changes[@]}" start 'stop --cpu'; do
    # shellcheck disable=SC2086 # words
    try 2 "$mallow" $request --wait 0.1 "$pid"
    one_line_error
    says err "^mallow: pid $pid: the process is stopped, by a signal or a debugger, and has not \
answered; .*'kill -CONT $pid'"
    says_not out pending
done
try 2 "$mallow" dump --in-process "$pid"
says err "^mallow: pid $pid: the process is stopped"
try 2 "$mallow" set --wait 0 "$pid" rate=2M
says err "^mallow: pid $pid: the process is stopped"
# Views show what the process had published.
for view in report status 'mark --label here' threads; do
    # shellcheck disable=SC2086 # words
    try 0 "$mallow" $view "$pid"
done
kill -CONT "$pid"
try 0 "$mallow" set --wait 60 "$pid" rate=4M
says out 'was 2 MiB'
kill_it
ok "a stopped process"

for request in "${changes[@]}"; do
    begin
    kill -STOP "$pid"
    await 60 is_stopped
    # shellcheck disable=SC2086 # words
    ask "$mallow" $request --wait 600 "$pid"
    kill_it
    answered "^mallow: pid $pid: the process (has ended|ended before it answered)"
done
for how in '' '--growth 1h'; do
    begin
    kill -STOP "$pid"
    await 60 is_stopped
    # shellcheck disable=SC2086 # words
    ask "$mallow" leaks $how --wait 600 "$pid"
    kill_it
    answered "^mallow: pid $pid: the process ended during the check, after [0-9.]+ s$"
done
# One that the user has not named is no error.
begin
kill -STOP "$pid"
await 60 is_stopped
ask "$mallow" stop --wait 600 --name leases
kill_it
wait "$asking" || fail "--name: status $?"
ok "a process that ends"

# Root without CAP_SYS_PTRACE may not enter a process that has it.
if [ "$(id -u)" = 0 ] && setpriv --bounding-set=-sys_ptrace true 2>/dev/null; then
    for request in "${changes[@]}" leaks 'leaks --growth 1h'; do
        begin "$(type -P env)" -u LD_PRELOAD sleep 1000
        # shellcheck disable=SC2086 # words
        ask setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "$mallow" $request \
            --wait 600 "$pid"
        kill -USR2 "$pid"
        answered "^mallow: pid $pid: the process .*started another program \(exec\)"
        try 0 "$mallow" report "$pid"
        says err "note: pid $pid has started another program \(sleep\), .*of the program before"
        kill_it
    done
    ok "a process that executes another program"
fi

# The leaks of the first of two checks are shown.
has_checked() { "$mallow" leaks --last "$pid" >last 2>/dev/null; [ $? != 2 ]; }
for how in -KILL -USR2; do
    begin "$(type -P env)" sleep 1000
    "$mallow" leaks --watch 600s --wait 60 "$pid" >out 2>err &
    asking=$!
    await 60 has_checked
    kill "$how" "$pid"
    [ "$how" != -KILL ] || wait "$pid" 2>/dev/null
    wait "$asking"
    status=$?
    [ "$status" -lt 2 ] || fail "status $status"
    says err "^mallow: note: pid $pid: the process .* after [0-9.]+ s: this is what the first check"
    says out "^leases \(pid $pid\): "
    if [ "$how" = -USR2 ]; then
        says err 'started another program \(exec\)'
    else
        says err 'the process ended'
    fi
    kill_it
done
ok "leaks --watch, and the process ends or executes another program"

# All threads filter their system calls: such a process is not entered. The filter permits all.
cat >filtered.c <<'EOF'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *volatile block;
int main(void) {
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {1, &allow};
	for (int i = 0; i < 3000; i++)
		block = memset(malloc(1000), 1, 1000);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		    &program) != 0 ||
	    write(1, "ready\n", 6) != 6)
		return 1;
	for (;;)
		pause();
}
EOF
cc -O1 -fno-builtin -o filtered filtered.c || fail "cc"
# launch OPTIONS
launch() {
    rm -f ready
    MALLOW_CONF=prof_state_min:0,$1 LD_PRELOAD=$library ./filtered >ready &
    pid=$!
    started+=("$pid")
    await 60 grep -qs ready ready
    await 60 is_known "$pid"
}
if [ "$(uname -m)" = x86_64 ]; then
    launch background_thread:false
    try 0 "$mallow" set --wait 0.2 "$pid" rate=1M
    says out 'pending; .*\(it is not woken, because it filters its system calls; '
    says out 'background_thread:true needs no waking'
    try 2 "$mallow" cpu --for 1s --wait 0.2 "$pid"
    one_line_error
    says err 'filters its system calls; .*background_thread:true needs no waking'
    kill_it
    launch background_thread:true
    try 0 "$mallow" set --wait 60 "$pid" rate=1M
    says_not out pending
    kill_it
    ok "a process that filters its system calls"
fi
