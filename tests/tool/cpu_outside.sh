#!/bin/bash
# SPDX-License-Identifier: MIT
# cpu_outside.sh BUILD_DIR -- `mallow cpu` of processes that were not started with mallow: sums
# against the CPU time that a program says it used, its functions, threads, the kernel; attached
# processes; --outside beside mallow; options that do not fit, targets that end, users without
# rights.
source "$(dirname "$0")/lib.bash"
source "$here/without_mallow.bash"
[ "$(uname -m)" = x86_64 ] || skip "samples from outside know x86-64 only"
cc -O1 -g -pthread -o cpu_outside "$here/cpu_outside.c" || fail "cc"
# tell WORDS: the program does it; $used_us and $interrupted are what it says.
tell() {
    echo "$*" >&"$to"
    read -r -t 120 used_us interrupted <&"$from" || fail "the program did not do '$*'"
}
# begin ARGUMENTS: mallow cpu in the background, until it samples; its pid is in $tool.
begin() {
    : >err.tool
    "$mallow" cpu --for 600s --cpu-rate 1000 -o now.pb.gz "$@" >out.tool 2>err.tool &
    tool=$!
    started+=("$tool")
    await 60 has_begun 'sampling CPU time from outside'
}
end() {
    kill -INT "$tool"
    wait "$tool" || fail "mallow cpu: status $?: $(cat err.tool)"
}
# spent [OPTION...]: microseconds in the profile.
spent() {
    "$mallow" top --json --sample-type cpu "$@" now.pb.gz >top.json 2>err ||
        fail "mallow top $*"
    sed -n 's/.*"selected": \([0-9]*\).*/\1/p' top.json | awk '{ printf "%d\n", $1 / 1000 }'
}
# near NAME GOT WANT LEEWAY, in microseconds.
near() {
    awk -v got="$2" -v want="$3" -v leeway="$4" \
        'BEGIN { d = got - want; exit !(d <= leeway && -d <= leeway) }' ||
        fail "$1: $2 us, not $3 +- $4"
    echo "   $1: $2 us, true $3, leeway $4"
}

start ./cpu_outside
if ! "$mallow" cpu --for 0.1 "$pid" >out 2>err; then
    grep -q 'does not permit samples\|has no samples of CPU time' err || fail "cpu"
    skip "this kernel or container permits no samples: $(cat err)"
fi

# A sample is taken each millisecond of a thread's CPU time.  Where the borders between the two
# functions lie in it is chance, and so is a part of a millisecond at the end of each of three
# threads.  Four standard deviations of n samples with the share 3/4 are 4 * sqrt(3n/16).  What is
# late is lost: where a processor is not there for longer than a millisecond, as on a busy virtual
# machine, the kernel takes one sample for several.  2 % were lost beside four other programs.
begin "$pid"
tell b 1500
end
all=$(spent --focus .)
near "all" "$all" "$used_us" $((3000 + used_us / 10))
near "heavy" "$(spent --focus '^heavy$')" $((all * 3 / 4)) \
    "$(awk -v n=$((used_us / 1000)) 'BEGIN { print 4 * sqrt(3 * n / 16) * 1000 + 3000 }')"
try 0 "$mallow" report --sample-type cpu now.pb.gz
says out ' in_turns .*cpu_outside\.c:[0-9]+'
says out ' main .*cpu_outside'
[ "$interrupted" = 0 ] || fail "$interrupted system calls returned EINTR"
ok "sums, functions and lines are right, and no system call is interrupted"

begin "$pid"
tell t 400
end
near "a new thread" "$(spent --tagfocus 'thread=worker!' --focus '^in_thread$')" "$used_us" \
    $((3000 + used_us / 10))
ok "threads that start later"

begin "$pid"
tell k 400
end
if grep -q 'CPU time in the kernel is left out' err.tool; then
    leave_out "the kernel permits no samples of its own code"
else
    near "the kernel" "$(spent --focus '^copy_zeros$')" "$used_us" $((3000 + used_us / 10))
    ok "time in the kernel counts for the function that called it"
    # The kernel has 100,000 functions; the profile, the names of those that it has samples of.
    [ "$(stat -c %s now.pb.gz)" -lt 100000 ] ||
        fail "the profile has $(stat -c %s now.pb.gz) bytes"
fi

begin "$pid"
tell d 200
end
grep -q 'of .* stacks are truncated: more than 32 KiB' err.tool || fail "no note: $(cat err.tool)"
near "a deep stack" "$(spent --focus '^deep$')" "$used_us" $((3000 + used_us / 10))
ok "a stack of more than 32 KiB is cut, which a note says"

begin "$pid"
tell c 200
end
[ "$(spent --focus '^in_child$')" -lt 50000 ] || fail "a child's time counts for its parent"
ok "a child is another process"

begin "$pid"
tell e
wait "$tool" || fail "mallow cpu: status $?: $(cat err.tool)"
grep -q 'started another program (exec)' err.tool || fail "no note of the exec"
ok "exec ends it, with a note"
finish

start ./cpu_outside
begin "$pid"
tell b 200
kill -9 "$pid"
wait "$tool" || fail "mallow cpu: status $?: $(cat err.tool)"
grep -q 'the process ended after' err.tool || fail "no note of the end: $(cat err.tool)"
[ "$(spent --focus '^heavy$')" -gt 50000 ] || fail "the samples of a killed process are lost"
wait "$pid"
exec {to}>&- {from}<&-
ok "the end of the process ends it, and its samples stay"

start ./cpu_outside
begin "$pid"
kill -9 "$tool"
wait "$tool"
begin "$pid"
tell b 200
end
near "after a killed command" "$(spent --focus .)" "$used_us" $((3000 + used_us / 10))
finish
ok "a killed command leaves nothing behind"

# Two commands at once have samples of their own.
start ./cpu_outside
begin "$pid"
first=$tool
mv err.tool err.first
"$mallow" cpu --for 600s --cpu-rate 500 -o other.pb.gz "$pid" >out.tool 2>err.tool &
tool=$!
started+=("$tool")
await 60 has_begun 'sampling CPU time from outside'
tell b 300
end
kill -INT "$first"
wait "$first" || fail "the first command: status $?"
for file in now other; do
    mv $file.pb.gz kept.pb.gz && cp kept.pb.gz now.pb.gz
    near "$file" "$(spent --focus .)" "$used_us" $((6000 + used_us / 10))
done
finish
ok "two commands at once"

# In a process that mallow was attached to, and in one that runs with it.
start ./cpu_outside
if "$mallow" attach "$pid" >out 2>err; then
    begin "$pid"
    tell b 300
    end
    near "attached" "$(spent --focus '^in_turns$')" "$used_us" $((3000 + used_us / 10))
    begin "$pid"
    tell m 300
    end
    near "attached, in malloc" "$(spent --focus '^allocate$')" "$used_us" $((3000 + used_us / 10))
    [ "$(spent --focus 'mallow attach')" -gt 0 ] || fail "the code of attach is not named"
    [ "$(spent --focus 'unknown')" = 0 ] || fail "there are functions without a name"
    [ "$interrupted" = 0 ] || fail "$interrupted system calls returned EINTR"
    for option in --wall --locks --memory-cost --event=page-faults; do
        try 2 "$mallow" cpu "$option" --for 0.1 "$pid"
        one_line_error
        says err "pid $pid: the process was not started with mallow.*${option%%=*} is not possible"
    done
    try 0 "$mallow" detach "$pid"
    ok "an attached process"
else
    leave_out "attach is refused: $(cat err)"
fi
finish
start env LD_PRELOAD="$build/lib/libmallow.so" MALLOW_CONF=prof_state_min:0 ./cpu_outside
begin --outside "$pid"
tell b 300
end
near "--outside" "$(spent --focus '^in_turns$')" "$used_us" $((3000 + used_us / 10))
try 2 "$mallow" cpu --outside --wall "$pid"
one_line_error
says err '^mallow: cpu: --outside and --wall exclude each other'
finish
ok "--outside, in a process that runs with mallow"

# A script's functions have no names; the interpreter's have.
if command -v python3 >/dev/null; then
    python3 -c 'import time
end = time.time() + 600
while time.time() < end:
    sorted(range(1000), key=lambda number: -number)' &
    pid=$!
    started+=("$pid")
    # A version manager's python3 is a script, which starts the program.
    is_python() { [[ $(readlink "/proc/$pid/exe") = */python[0-9.]* ]]; }
    await 60 is_python
    try 0 "$mallow" cpu --for 1s "$pid"
    says out 'python|PyEval'
    kill -9 "$pid"
    ok "python3"
fi

# Users without rights sample their own processes if the kernel permits it.
share_build
cp cpu_outside "$work/build/"
other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
"${other[@]}" "$work/build/cpu_outside" <to >from &
pid=$!
started+=("$pid")
exec {to}>to {from}<from
read -r -t 60 answer <&"$from"
echo "b 3000" >&"$to"
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
    try 0 env HOME="$work" XDG_CACHE_HOME="$work/none" "${other[@]}" "$mallow" cpu --for 1s "$pid"
    says out '^.* heavy( |$)'
    ok "a user without rights"
else
    try 2 "${other[@]}" "$mallow" cpu --for 1s "$pid"
    one_line_error
    says err 'it takes root, CAP_PERFMON'
    ok "a user without rights is refused with a line"
fi
# Nobody samples another user's process.
sleep 600 &
pid_of_root=$!
started+=("$pid_of_root")
try 2 "${other[@]}" "$mallow" cpu --for 1s "$pid_of_root"
one_line_error
ok "another user's process"
