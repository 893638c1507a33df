#!/bin/bash
# SPDX-License-Identifier: MIT
# leases.sh BUILD_DIR -- samples that a command asks for until it ends: two commands at once, ones
# that are killed, stopped or lose their terminal, programs that never allocate, programs that end
# or execute another one meanwhile.
source "$(dirname "$0")/lib.bash"
needs python3
library=$build/lib/libmallow.so
cc -g -O1 -fno-builtin -o leases "$here/leases.c" || fail "cc"

# begin [WORD...]: starts the program; $pid is its.
begin() {
    MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$library ./leases "$@" &
    pid=$!
    started+=("$pid")
    await 60 is_known "$pid"
}
finish() {
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
}
# Timers and events, as the kernel knows them.
is_sampled() { grep -q '^ID:' "/proc/$pid/timers" || grep -q perf_event "/proc/$pid/maps"; }
is_left_alone() { ! is_sampled; }
is_on() { grep -qE "\"hz\": $1\\b" <<<"$("$mallow" status --json "$pid")"; }
# The heap's samples.
is_active() { grep -qE '"active": true' <<<"$("$mallow" status --json "$pid")"; }
is_inactive() { ! is_active; }
# The control section begins with the sequence. `before` is what it was.
sequence() { od -An -j4096 -N4 -tu4 "/dev/shm/mallow-$(id -u)/$pid".*; }
has_asked() { [ "$(sequence)" != "$before" ]; }
is_stopped() { grep -q '^State:.T' "/proc/$1/status"; }
# total FILE: seconds of CPU time in the profile.
total() {
    "$mallow" top --json "$1" | python3 -c 'import json, sys
print(json.load(sys.stdin)["total"] / 1e9)'
}
at_least() { python3 -c "import sys; sys.exit(not float('$1') >= $2)"; }
# used PID: the program's CPU time so far, in seconds.
used() { awk '{ print ($14 + $15) / 100 }' "/proc/$1/stat"; }

# --- two at once ---
begin
"$mallow" cpu --for 600s --wait 60 -o first.pb.gz "$pid" 2>first.err &
first=$!
await 60 is_on 100
before=$(sequence)
used_before=$(used "$pid")
"$mallow" cpu --for 4s --wait 60 --cpu-rate 400 -o second.pb.gz "$pid" 2>second.err &
second=$!
await 60 has_asked
await 60 waits_for_interrupt "$first"
kill -INT "$first"
wait "$first" || fail "the first of two: $(cat first.err)"
wait "$second" || fail "the second of two: $(cat second.err)"
after=$(used "$pid")
# The program may have had less than a processor.
share=$(python3 -c "print(0.7 * ($after - $used_before))")
at_least "$(total second.pb.gz)" "$share" ||
    fail "the second of two saw $(total second.pb.gz) s of $used_before to $after s"
grep -q '100 samples per second and not 400' second.err || fail "no note: $(cat second.err)"
is_left_alone || fail "sampled after both"
ok "two at once: the second one sees all of its time"

"$mallow" cpu --for 600s --wait 60 -o first.pb.gz "$pid" 2>first.err &
first=$!
await 60 is_on 100
try 2 "$mallow" cpu --wall --for 1s "$pid"
one_line_error
says err 'another mallow samples CPU time of this process; try again when it has ended'
try 0 "$mallow" start --wait 60 --cpu --cpu-rate 50 "$pid"
says err "note: pid $pid: until another mallow ends, CPU time is on, 100 Hz"
is_on 100 || fail "the rate of the one that watches was changed"
await 60 waits_for_interrupt "$first"
kill -INT "$first"
wait "$first" || fail "^C"
is_on 50 || fail "what the user switched on did not stay: $("$mallow" status "$pid")"
try 0 "$mallow" cpu --wait 60 --wall --for 1s -o wall.pb.gz "$pid"
is_on 50 || fail "what the user switched on did not come back"
try 0 "$mallow" stop --wait 60 --cpu "$pid"
is_left_alone || fail "sampled after stop"
ok "another source is refused; what the user switched on stays"

# --- the end of a command in any way ---
"$mallow" cpu --for 600s --wait 60 "$pid" >out 2>err &
first=$!
await 60 is_on 100
kill -9 "$first"
await 60 is_left_alone
"$mallow" cpu --for 600s --wait 60 --wall "$pid" >out 2>err &
first=$!
await 60 is_sampled
kill -9 "$first"
await 60 is_left_alone
ok "kill -9 of the command"

"$mallow" cpu --for 600s --wait 60 "$pid" >out 2>err &
first=$!
await 60 is_on 100
# From here on the program never calls the library.
kill -USR1 "$pid"
kill -9 "$first"
await 60 is_left_alone
finish
begin
try 0 "$mallow" start --wait 60 --cpu --cpu-rate 50 "$pid"
"$mallow" cpu --for 600s --wait 60 --cpu-rate 500 "$pid" >out 2>err &
first=$!
await 60 is_on 500
kill -USR1 "$pid"
kill -9 "$first"
await 60 is_on 50
is_sampled || fail "what the user switched on did not come back"
finish
ok "kill -9, and the program never allocates"

begin
if permits_events "$pid"; then
    try 0 "$mallow" stop --wait 60 --cpu "$pid"
    "$mallow" cpu --for 600s --wait 60 --event cpu-clock "$pid" >out 2>err &
    first=$!
    await 60 grep -q perf_event "/proc/$pid/maps"
    kill -USR1 "$pid"
    kill -9 "$first"
    await 60 is_left_alone
    ok "the same with events"
else
    leave_out "events: perf_event_open(2) is not permitted"
fi
finish

begin
terminal new-session -d -x 100 -y 20 "$mallow cpu --for 600s --wait 60 $pid"
await 60 is_on 100
terminal kill-server
await 60 is_left_alone
terminal new-session -d -x 100 -y 20 "$mallow top --cpu $pid"
await 60 is_on 100
terminal kill-server
await 60 is_left_alone
ok "a terminal that is closed"

# --- a command that does not run for some time ---
"$mallow" cpu --for 600s --wait 60 "$pid" >out 2>err &
first=$!
await 60 is_on 100
kill -STOP "$first"
await 60 is_left_alone
kill -CONT "$first"
await 60 is_on 100
await 60 waits_for_interrupt "$first"
kill -INT "$first"
wait "$first" || fail "a command that was stopped"
says err "note: pid $pid: nothing was sampled for about [0-9.]+ s, in which this command was"
says out 'compute'
ok "a command that was stopped goes on, and says what is missing"

# The command does not run between the answer of the process and its own look at it.
finish
for command in "cpu --for 600s -o cpu.pb.gz" "start --for 600s -o heap.pb.gz"; do
    begin
    try 0 "$mallow" stop --wait 60 "$pid"
    if [ "${command%% *}" = cpu ]; then
        yes=is_sampled no=is_left_alone
    else
        yes=is_active no=is_inactive
    fi
    kill -STOP "$pid"
    await 60 is_stopped "$pid"
    before=$(sequence)
    # shellcheck disable=SC2086 # words
    "$mallow" $command --wait 600 "$pid" >out 2>err &
    first=$!
    await 60 has_asked
    kill -STOP "$first"
    await 60 is_stopped "$first"
    kill -CONT "$pid"
    await 60 "$yes"
    await 60 "$no"
    kill -CONT "$first"
    await 60 "$yes"
    await 60 waits_for_interrupt "$first"
    kill -INT "$first"
    wait "$first" || fail "$command: a lease that was over at once"
    finish
done
ok "a command that was stopped before it saw that it may begin"
begin

# --- the heap ---
try 0 "$mallow" stop --wait 60 "$pid"
"$mallow" start --for 600s --wait 60 -o heap.pb.gz "$pid" 2>err &
first=$!
await 60 is_active
"$mallow" start --for 1s -o other.pb.gz "$pid" 2>other.err || fail "$(cat other.err)"
is_active || fail "the end of one session ended the other"
kill -9 "$first"
await 60 is_inactive
"$mallow" start --for 600s --wait 60 -o heap.pb.gz "$pid" 2>err &
first=$!
await 60 is_active
try 0 "$mallow" stop --wait 60 "$pid"
says err "until another 'mallow start --for' ends, sampling is on"
is_active || fail "stop ended the session of another"
await 60 waits_for_interrupt "$first"
kill -INT "$first"
wait "$first" || fail "^C of a session"
is_inactive || fail "sampled after the session"
"$mallow" top --json heap.pb.gz >out || fail "the session's profile"
grep -q '"allocate"' out || fail "the session saw nothing: $(cat out)"
try 0 "$mallow" start --wait 60 --for 1s -o heap.pb.gz "$pid"
try 0 "$mallow" start --wait 60 "$pid"
"$mallow" start --for 600s --wait 60 -o heap.pb.gz "$pid" 2>err &
first=$!
sleep 1
kill -9 "$first"
is_active || fail "what the user switched on did not stay"
ok "sessions of the heap"
finish

# --- words that no command writes ---
begin
python3 - "$pid" <<'WORDS' || fail "the control page"
import glob, os, random, struct, sys
path = glob.glob(f"/dev/shm/mallow-*/{sys.argv[1]}.*")[0]
random.seed(7)
with open(path, "r+b") as file:
    header = file.read(2048)
    # The section table begins behind these fields (state/layout.h); a row has 32 bytes.
    offset, _, _, first_entries, first = struct.unpack_from("<QQIIQ", header, 72)
    control = first if first_entries else offset
    lease = control + 552
    for rate in (0xffffffff, 0x80000000, 10001, 15 << 24, 1 << 31 | 1 << 24 | 5):
        file.seek(lease)
        file.write(struct.pack("<IIII", rate, random.getrandbits(32), 7, 9))
        file.seek(control)
        sequence = struct.unpack("<I", file.read(4))[0]
        file.seek(control)
        file.write(struct.pack("<I", sequence + 1))
        file.flush()
WORDS
sleep 0.5
kill -0 "$pid" || fail "the program did not survive"
is_left_alone || fail "a rate that does not exist"
try 0 "$mallow" cpu --wait 60 --for 1s --cpu-rate 1000 "$pid"
says out compute
finish
ok "words that no command writes"

# --- nothing is in use ---
begin
try 0 "$mallow" reset --wait 60 "$pid"
allocates_again() { "$mallow" report --sample-type alloc_space "$pid" >out && ! says_zero; }
says_zero() { grep -q '^Total: *0 B' out; }
await 60 allocates_again
kill -STOP "$pid"
for view in threads 'threads --json' 'report --interval' tree 'sizes'; do
    # shellcheck disable=SC2086 # words of a command
    try 0 "$mallow" $view "$pid"
done
finish
ok "views after a reset, with nothing in use"

# --- programs that do not stay ---
begin
"$mallow" cpu --for 600s --wait 60 "$pid" >out 2>err &
first=$!
await 60 is_on 100
sleep 1
kill -USR2 "$pid"
wait "$first" || fail "the end of the program"
says err "note: pid $pid: the process ended after [0-9.]+ s"
says out compute
begin "$(command -v sleep)" 600
"$mallow" cpu --for 600s --wait 60 "$pid" >out 2>err &
first=$!
"$mallow" start --for 600s --wait 60 -o heap.pb.gz "$pid" 2>heap.err &
second=$!
await 60 is_on 100
sleep 1
kill -USR2 "$pid"
wait "$first" || fail "exec"
says err "note: pid $pid: the process started another program \(exec\) after [0-9.]+ s"
says out compute
wait "$second" || fail "exec in a session: $(cat heap.err)"
grep -qE "note: pid $pid: the process started another program \(exec\) after" heap.err ||
    fail "exec in a session: $(cat heap.err)"
"$mallow" top --json heap.pb.gz >out || fail "the session's profile"
grep -q '"allocate"' out || fail "the session saw nothing: $(cat out)"
finish
ok "programs that end, or execute another"

# From the start, and refused: `status` says why. A signal that is ignored stays so in the program.
MALLOW_CONF=prof_state_min:0,prof_cpu:100 LD_PRELOAD=$library python3 -c '
import os, signal
for number in [*range(signal.SIGRTMIN, signal.SIGRTMAX + 1), signal.SIGURG, signal.SIGWINCH]:
    signal.signal(number, signal.SIG_IGN)
os.execv("./leases", ["./leases"])' &
pid=$!
started+=("$pid")
says_why() {
    grep -q '^ *CPU time *not sampled: it handles or ignores every real-time signal' \
        <<<"$("$mallow" status "$pid" 2>/dev/null)"
}
await 60 says_why
finish
ok "why nothing is sampled"

# --- the counters are set to zero meanwhile ---
begin
for command in "cpu --for 600s -o cpu.pb.gz" "start --for 600s -o heap.pb.gz" \
    "cpu --for 600s --memory-cost"; do
    before=$(sequence)
    # shellcheck disable=SC2086 # words
    "$mallow" $command --wait 60 "$pid" >out 2>err &
    first=$!
    await 60 has_asked
    sleep 1
    "$mallow" reset "$pid" >/dev/null || fail "reset"
    sleep 0.5
    await 60 waits_for_interrupt "$first"
    kill -INT "$first"
    wait "$first" || fail "$command: status $?"
    says err "note: pid $pid: 'mallow reset' set the counters to zero after [0-9.]+ s: this is \
what was (sampled|allocated) in the [0-9.]+ s since"
    if [ "${command##* }" != --memory-cost ]; then
        "$mallow" raw --json "${command##* }" >raw.json || fail "raw"
        gzip -dc "${command##* }" >plain
        grep -aq "'mallow reset' set the counters to zero after" plain ||
            fail "$command: no comment in the file"
        python3 - <<'END' || fail "$command: the time that the profile covers"
import json, re
said = re.search(r"zero after ([0-9.]+) s: .* in the ([0-9.]+) s since", open("err").read())
covered = json.load(open("raw.json"))["duration_ns"] / 1e9
assert abs(covered - float(said[2])) < 0.01 * covered + 0.01, (covered, said[0])
END
    fi
done
finish
ok "a reset meanwhile"
