#!/bin/bash
# SPDX-License-Identifier: MIT
# cpu.sh BUILD_DIR -- CPU time, live and after the end: starts and stops, sessions, a kill,
# python3 and redis-server, formats for pprof, forked children.
source "$(dirname "$0")/lib.bash"
needs python3
library=$build/lib/libmallow.so
# Not a shell script that executes it.
python3=$(python3 -c 'import sys; print(sys.executable)')

# --- starts and stops ---
# Every object by malloc: a process looks for requests when it allocates.
PYTHONMALLOC=malloc MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$library "$python3" -c '
def deep(n):
    return [n] if n == 0 else deep(n - 1) + [n]
while True:
    deep(20)
' &
python=$!
started+=("$python")
await 60 is_known "$python"
try 2 "$mallow" top --cpu "$python"
one_line_error
says err 'CPU time was never sampled'
try 2 "$mallow" start --cpu --cpu-rate 10001 "$python"
says err "does not take '10001'; allowed: 1 to 10000"
try 2 "$mallow" start --cpu-rate 100 "$python"
says err '--cpu-rate goes with --cpu'
try 2 "$mallow" start --cpu --for 2s "$python"
says err "'mallow cpu'"
try 0 "$mallow" start --wait 60 --cpu --cpu-rate 1000 "$python"
says out "^pid $python: CPU time: on, 1000 Hz \(was off\)$"
try 0 "$mallow" start --wait 60 --cpu --cpu-rate 1000 "$python"
says out "^pid $python: CPU time: already on, 1000 Hz since .*; nothing changed$"
has_samples() {
    [ "$("$mallow" status --json "$1" | python3 -c 'import json, sys
print(json.load(sys.stdin)["cpu"]["samples"])')" -gt "$2" ]
}
await 60 has_samples "$python" 50
try 0 "$mallow" status "$python"
says out 'CPU time +sampled since .*, 1000 Hz, [12] threads, signal [3-6][0-9]'
signal=$(sed -n 's/.*, signal \([0-9]*\)$/\1/p' out)
caught=$(sed -n 's/^SigCgt:\t//p' "/proc/$python/status")
[ $((0x$caught >> (signal - 1) & 1)) = 1 ] || fail "signal $signal is not handled"
tasks=$(find "/proc/$python/task" -mindepth 1 -maxdepth 1 | wc -l)
[ "$(grep -c ^ID: "/proc/$python/timers")" = $((tasks + 1)) ] ||
    fail "not a timer for each thread and one for the process"
try 0 "$mallow" stop --wait 60 --cpu "$python"
says out "^pid $python: CPU time: off \(was on, 1000 Hz since .*\)$"
[ -z "$(cat "/proc/$python/timers")" ] || fail "timers are left"
caught=$(sed -n 's/^SigCgt:\t//p' "/proc/$python/status")
[ $((0x$caught >> (signal - 1) & 1)) = 0 ] || fail "the handler is left"
try 0 "$mallow" stop --wait 60 --cpu "$python"
says out 'CPU time: already off since .*; nothing changed$'
try 0 "$mallow" top --cpu "$python"
says out '^Type: cpu$'
says out 'deep <string>:2'
try 0 "$mallow" report --cpu --sample-type samples "$python"
try 0 "$mallow" tree --cpu "$python"
try 0 "$mallow" threads --cpu "$python"
says out python3
try 0 "$mallow" flame --cpu "$python" -o flame.html
grep -q 'deep' flame.html || fail "the flame graph has no Python"
# Without --cpu the page has both halves.
try 0 "$mallow" flame "$python" -o both.html
grep -q '"types":\[{"name":"inuse_space",.*{"name":"cpu","unit":"nanoseconds"}' both.html ||
    fail "the flame graph does not switch to CPU time"
ok "starts, stops, what they leave, views"

# --- functions without names ---
cat >spin.c <<'END'
#include <stdlib.h>
volatile unsigned long turns;
int main(void) {
    for (void *block = malloc(100);; turns += block != NULL)
        ;
}
END
cc -O1 -o spin spin.c || fail "spin.c does not compile"
strip spin
MALLOW_CONF=prof_state_min:0,prof_cpu:1000 LD_PRELOAD=$library ./spin &
spin=$!
started+=("$spin")
await 60 is_known "$spin"
await 60 has_samples "$spin" 50
try 0 "$mallow" report --cpu "$spin"
says err 'no symbols for .* in spin \(in stacks with (100|9[0-9]) % of the time'
says_not err 'of the bytes'
kill "$spin"
wait "$spin" 2>/dev/null
ok "the note about functions without names weighs time"

# --- a session ---
began=$SECONDS
try 0 "$mallow" cpu --wait 60 --seconds 1 "$python"
[ $((SECONDS - began)) -lt 25 ] || fail "--seconds 1 took $((SECONDS - began)) s"
try 0 "$mallow" cpu --wait 60 --for 2s --cpu-rate 500 "$python"
says out '^Type: cpu$'
says out 'deep <string>:2'
[ -z "$(cat "/proc/$python/timers")" ] || fail "the session did not end"
try 0 "$mallow" start --wait 60 --cpu --cpu-rate 50 "$python"
try 0 "$mallow" cpu --wait 60 --for 1s --cpu-rate 500 -o session.pb.gz "$python"
try 0 "$mallow" status "$python"
says out 'CPU time +sampled since .*, 50 Hz'
try 0 "$mallow" diff --cpu session.pb.gz "$python"
# A stack is shown once for all processors, unless their label is asked for.
try 0 "$mallow" traces session.pb.gz
says out '^ +[0-9.]+ m?s +[_a-zA-Z]'
says_not out '^ +cpu:'
try 0 "$mallow" traces --tagshow=cpu session.pb.gz
says out '^ +cpu:  [0-9]'
if command -v go >/dev/null; then
    try 0 go tool pprof -top session.pb.gz
    says out '^Type: cpu$'
    says out '_PyEval_EvalFrame'
fi
"$mallow" cpu --for 600s --wait 60 "$python" >out 2>err &
session=$!
is_faster() {
    grep -q ', 100 Hz' <<<"$("$mallow" status "$python")"
}
await 60 is_faster
await 60 waits_for_interrupt "$session"
sleep 1
kill -INT "$session"
wait "$session" || fail "^C"
says out '^Type: cpu$'
"$mallow" cpu --for 600s --wait 60 "$python" >out 2>err &
session=$!
await 60 is_faster
sleep 1
kill -9 "$python"
wait "$session" || fail "the end of the process"
says out '^Type: cpu$'
ok "sessions"

# --- after a kill ---
try 0 "$mallow" top --cpu "$python"
says out 'deep <string>:2'
try 2 "$mallow" cpu "$python"
says err 'no live process'
try 2 "$mallow" top --cpu "$here/../fuzz/corpus/heap/nothing"
ok "after a kill"

# --- what memory costs ---
cat >cost.c <<'END'
#include <stdlib.h>
#include <string.h>
static void *volatile kept;
__attribute__((noinline)) static void *xmalloc(size_t bytes) {
	return malloc(bytes);
}
__attribute__((noinline)) static void keep_shortly(void) {
	for (int i = 0; i < 1000; i++) {
		kept = xmalloc(100);
		free(kept);
	}
}
__attribute__((noinline)) static void compute(void) {
	static volatile unsigned long sum;
	for (unsigned long i = 0; i < 5000; i++)
		sum += i * i;
}
int main(void) {
	for (;;) {
		keep_shortly();
		compute();
	}
}
END
cc -O1 -g -fno-builtin cost.c -o cost
MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$library ./cost &
cost=$!
started+=("$cost")
await 60 is_known "$cost"
try 0 "$mallow" cpu --wait 60 --memory-cost --for 2s --cpu-rate 1000 "$cost"
says out '^malloc(, free and page faults| and free): .* CPU time, [0-9.]+%$'
says out ' (keep_shortly|main)$'
try 0 "$mallow" cpu --wait 60 --memory-cost --for 2s --cpu-rate 1000 --json "$cost"
python3 - out <<'END' || fail "the cost of memory: $(cat out)"
import json, sys
cost = json.load(open("out"))
row = cost["rows"][0]
share = (cost["malloc_ns"] + cost["free_ns"]) / cost["cpu_ns"]
sys.exit(not (0.2 < share < 1 and row["caller"] in ("keep_shortly", "main")
              and row["malloc_ns"] > 0 and row["free_ns"] > 0
              and row["alloc_bytes"] > 1e6 and row["lifetime_ns"] < 1e6))
END
for other in --wall '--output=cost.html'; do
    try 2 "$mallow" cpu --memory-cost "$other" "$cost"
    one_line_error
    says err 'do not go together'
done
kill -9 "$cost"
ok "what memory costs"

# --- wall-clock time ---
cat >wait.py <<'END'
import threading, time
def wait():
    time.sleep(1.2)
waiter = threading.Thread(target=wait)
waiter.start()
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
waiter.join()
END
try 0 "$mallow" run --wall -o wall.pb.gz "$python3" wait.py
says err 'wall-clock time of all threads'
try 0 "$mallow" top --json wall.pb.gz
says out '"type": "wall"'
try 0 "$mallow" top --json --tagfocus state=waiting wall.pb.gz
python3 - out <<'END' || fail "time of waiting: $(cat out)"
import json, sys
sys.exit(not json.load(open("out"))["selected"] > 1.5e9)
END
try 2 "$mallow" start --wall 1
says err 'goes with --cpu'
ok "wall-clock time"

# --- a process with children ---
cat >tree.py <<'END'
import os, subprocess, sys, time
def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
for _ in range(3):
    child = os.fork()
    if child == 0:
        spin(0.3)
        os._exit(0)
    spin(0.1)
    os.waitpid(child, 0)
subprocess.run([sys.executable, "-c", "for i in range(5000000): pass"])
END
try 0 "$mallow" run --cpu -o profiles/ "$python3" tree.py
[ "$(find profiles -name "mallow.python3.*.pb.gz" | wc -l)" = 2 ] ||
    fail "not a profile for each of the two programs"
ok "forked children have no timers, programs after exec have"

# --- redis-server ---
if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
    LD_PRELOAD=$library redis-server --port 0 --unixsocket "$work/r.sock" --save '' \
        >redis.log 2>&1 &
    redis=$!
    started+=("$redis")
    await 60 test -S r.sock
    redis-benchmark -s r.sock -n 2000 -q -t set >/dev/null || fail "redis-benchmark"
    (
        redis-benchmark -s r.sock -n 400000 -P 8 -q -t set,lpush,hset >bench.out 2>&1
        echo $? >bench.rc
    ) &
    try 0 "$mallow" cpu --wait 60 --for 3s --cpu-rate 1000 "$redis"
    says out 'Type: cpu'
    says out 'processCommand|call|aeProcessEvents|readQueryFromClient'
    await 120 test -s bench.rc
    [ "$(cat bench.rc)" = 0 ] || fail "redis-benchmark noticed"
    kill "$redis"
    ok "redis-server"
fi
