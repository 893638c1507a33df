#!/bin/bash
# SPDX-License-Identifier: MIT
# cpu_events.sh BUILD_DIR -- `mallow cpu --event`: page faults beside the kernel's count, frames of
# the kernel, events that the kernel or the machine refuses.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -fno-builtin -pthread -o faults "$here/faults.c" || fail "cc"
mkfifo pipe
MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so ./faults <pipe >ready &
pid=$!
started+=("$pid")
exec {input}>pipe
await 60 grep -qs ready ready
await 60 is_known "$pid"

# number_of KEY: of the section "cpu" of the status.
number_of() {
    "$mallow" status --json "$pid" |
        python3 -c "import json, sys; print(json.load(sys.stdin)['cpu']['$1'])"
}
is_on() { [ "$(number_of hz)" = 1000 ]; }
# In hundredths of a second, which the kernel cuts off: user time and system time.
cpu_time_of() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
faults_of() { awk '{ print $10 }' "/proc/$1/stat"; }
has_counted() {
    [ "$(number_of samples)" -ge "$((former + 1000))" ] && [ "$("$1" "$pid")" -ge "$2" ]
}
# count_event EVENT COUNTER MUCH: a session that ends after 1000 samples and after `MUCH` more of
# what the kernel's COUNTER counts, however long that takes.  Its profile is in ./out.  $least is
# what the kernel counted while the session certainly ran, $most what it counted from before the
# session until after it.  The test ends if the kernel permits no events.
count_event() {
    local session first begin
    former=$(number_of samples)
    first=$("$2" "$pid")
    "$mallow" cpu --for 600s --wait 60 --cpu-rate 1000 --event "$1" --json "$pid" >out 2>err &
    session=$!
    started+=("$session")
    until is_on || has_ended "$session"; do
        sleep 0.05
    done
    if has_ended "$session"; then
        grep -q 'the kernel does not permit the event' err || fail "--event $1: $(cat err)"
        exec {input}>&-
        skip "perf_event_open(2) is not permitted"
    fi
    begin=$("$2" "$pid")
    await 240 has_counted "$2" $((begin + $3))
    least=$(($("$2" "$pid") - begin))
    await 60 is_interrupted "$session"
    wait "$session" || fail "--event $1: status $?: $(cat err)"
    most=$(($("$2" "$pid") - first))
}

# Not counted is what a thread did after its last sample: the kernel adapts how many page faults lie
# between two samples, up to some thousands.  Counted twice is a page fault that a signal
# interrupted; /proc/PID/stat counts it when it is over.
count_event page-faults faults_of 100000
python3 - "$least" "$most" <<'END' || fail "page faults"
import json, sys
report = json.load(open("out"))
counted, least, most = report["total"], *map(int, sys.argv[1:])
assert 0.9 * least < counted < 1.01 * most, (least, counted, most)
# The program has as many in touch_pages() as in the function beside it.  Six standard deviations of
# a half, of 1000 samples, are 0.095; twice that, because intervals of the samples differ in length.
flat = {row["name"]: row["flat"] for row in report["rows"]}
assert flat["touch_pages"] > 0.3 * counted, flat
END
ok "page faults: as many as the kernel counts, where they happen"

# With the kernel's frames the stack goes on where the page is given.  Between two samples lies a
# millisecond of a thread's time, or more while the kernel holds the signal back; of time in
# /proc/PID/stat a hundredth of a second is cut off twice.  The event also counts time that a
# virtual machine's host or an interrupt took.
count_event cpu-clock cpu_time_of 100
python3 - "$least" "$most" <<'END' || fail "CPU clock"
import json, sys
report = json.load(open("out"))
rows = {row["name"]: row for row in report["rows"]}
least, most = (1e7 * int(word) for word in sys.argv[1:])
assert report["type"] == "cpu", report["type"]
assert 0.95 * least - 2e7 < report["total"] < 1.5 * most + 2e7, (least, report["total"], most)
# Measured: 0.16 to 0.21; six standard deviations of a share of 1000 samples are 0.07.
assert rows["touch_pages"]["cum"] > 0.05 * report["total"], rows["touch_pages"]
END
if grep -q 'the kernel permits no frames' err || ! grep -q '^ffffffff' /proc/kallsyms; then
    leave_out "names of the kernel's functions"
else
    grep -q page_fault out || fail "no function of the kernel handles page faults"
    count_event context-switches cpu_time_of 0
    grep -q '"hand_over"' out || fail "context switches: who waits"
    grep -q '"name": ".*schedule' out || fail "context switches: where the thread waits"
    ok "frames of the kernel"
    # The function that accesses the pages has the time, libc's memset() between it and the kernel.
    try 0 "$mallow" cpu --wait 60 --memory-cost --for 1s --cpu-rate 1000 --json "$pid"
    python3 - <<'END' || fail "page faults in the cost of memory: $(cat out)"
import json
cost = json.load(open("out"))
rows = {row["caller"]: row for row in cost["rows"]}
# Measured: 0.2 to 0.4 of the time, in 400 samples or more; six standard deviations are 0.12.
assert 0.05 * cost["cpu_ns"] < cost["fault_ns"] < cost["cpu_ns"], cost["fault_ns"]
assert rows["touch_pages"]["fault_ns"] + rows["set_pages"]["fault_ns"] > 0.9 * cost["fault_ns"]
assert rows["set_pages"]["fault_ns"] > 0.1 * cost["fault_ns"], rows["set_pages"]
assert rows["touch_pages"]["malloc_ns"] == 0, rows["touch_pages"]
END
    ok "page faults in the cost of memory"
fi
try 0 "$mallow" start --wait 60 --cpu --event page-faults --cpu-rate 50 "$pid"
says out "^pid $pid: CPU time: on, 50 Hz of page-faults \\(was off"
try 0 "$mallow" status "$pid"
says out 'CPU time +sampled since .*, 50 Hz of page-faults, 3 threads'
try 0 "$mallow" status --json "$pid"
valid status
try 0 "$mallow" stop --wait 60 --cpu "$pid"
# The events end with their memory.
! grep -q 'perf_event' "/proc/$pid/maps" || fail "events are left"
exec {input}>&-
wait "$pid" || fail "the program's exit status"
ok "start, status, stop"

# From the start on; the process has ended when its kernel frames get their names.
cat >touch.c <<'END'
#include <sys/mman.h>
int main(void) {
	enum { BYTES = 100 << 20 };
	char *memory = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, BYTES, MADV_NOHUGEPAGE);
	for (int round = 0; round < 5; round++) {
		for (long i = 0; i < BYTES; i += 4096)
			memory[i] = 1;
		madvise(memory, BYTES, MADV_DONTNEED);
	}
	return 0;
}
END
cc -g -O1 touch.c -o touch
try 0 "$mallow" run --cpu --cpu-rate 1000 --event page-faults -o touch.pb.gz -- ./touch
says err '^page-faults 1[0-3][0-9]k, [0-9]+ samples'
says err ' main '
try 0 "$mallow" top --json touch.pb.gz
python3 -c 'import json
report = json.load(open("out"))
assert report["type"] == "page-faults" and 100000 < report["total"] < 133000' ||
    fail "run --event: $(cat out)"
ok "run --event"

try 2 "$mallow" run --cpu --event page-faults --wall -- true
one_line_error
try 2 "$mallow" cpu --event page-faults --wall "$$"
one_line_error
try 2 "$mallow" cpu --event branches "$$"
one_line_error
says err 'allowed: cpu-clock.cycles.cache-misses.page-faults.context-switches'
try 2 "$mallow" start --event cycles "$$"
says err 'goes with --cpu'
ok "wrong options"
