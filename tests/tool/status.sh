#!/bin/bash
# SPDX-License-Identifier: MIT
# status.sh BUILD_DIR -- what `mallow status` says of an idle process: its heap as it is now, what
# is a stack and what is not, how far off the estimates may be.
source "$(dirname "$0")/lib.bash"
needs python3
cat >lazy.c <<'EOF'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *use_stack(void *allocates) {
	char buffer[3 << 20];
	memset(buffer, 1, sizeof buffer);
	void *volatile block = allocates ? malloc(100) : NULL;
	(void)block;
	for (;;)
		pause();
}

/* lazy THREADS: grows to 90 MiB, then by too little for another walk of its own, and sleeps. */
int main(int argc, char **argv) {
	static void *volatile kept;
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 0; i < 90000; i++)
		memset((kept = malloc(1000)), 1, 1000);
	usleep(300000);
	for (int i = 0; i < 5000; i++)
		memset((kept = malloc(1000)), 1, 1000);
	/* 50 MiB above an area without permissions, as a stack above its guard. */
	char *area = mmap(NULL, 51 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || mprotect(area + 4096, (51 << 20) - 4096, PROT_READ | PROT_WRITE))
		return 1;
	memset(area + 4096, 1, 50 << 20);
	for (int i = 0; i < threads; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, use_stack, i % 2 == 0 ? "" : NULL))
			return 1;
	}
	sleep(1);
	if (write(1, "ready\n", 6) != 6)
		return 1;
	for (;;)
		pause();
}
EOF
cc -g -O1 -fno-builtin -pthread -o lazy lazy.c || fail "cc"

# run_lazy THREADS [OPTION]
run_lazy() {
    rm -f "from.$1"
    mkfifo "from.$1"
    MALLOW_CONF=prof_sample:64K,prof_cost_limit:0,prof_seed:3,${2:-} \
        LD_PRELOAD=${library:-$build/lib/libmallow.so} ./lazy "$1" >"from.$1" &
    pid=$!
    started+=("$pid")
    read -r -t 60 answer <"from.$1"
    [ "$answer" = ready ] || fail "the program did not start"
}

run_lazy 0 background_thread:true
asked=$(date +%s.%N)
try 0 "$mallow" status --json "$pid"
python3 - out "$asked" <<'END' || fail "the account is wrong"
import json, sys
status = json.load(open(sys.argv[1]))
memory = status["memory"]
MIB = 1 << 20
blocks = 95000 * 1024
assert abs(memory["blocks"] - blocks) < 0.02 * blocks, (memory["blocks"], blocks)
assert abs(memory["live"] + memory["rounding"] - blocks) < 0.02 * blocks, memory
# Walked because somebody asked, and not before.
walked_ns = memory["heap_walked_ns"]
assert walked_ns / 1e9 >= float(sys.argv[2]) - 0.1, (walked_ns, sys.argv[2])
assert memory["stacks"] < MIB, memory["stacks"]
assert 50 * MIB <= memory["mapped"] < 52 * MIB, memory["mapped"]
low, high = status["live_bytes_interval"]
assert low <= status["live_bytes"] <= high and low <= blocks <= high, (low, high)
assert 0.04 * blocks < high - low < 0.2 * blocks, (low, high)
low, high = status["live_objects_interval"]
assert low <= status["live_objects"] <= high + 1 and low <= 95000 <= high, (low, high)
assert not status["request_pending"]
END
try 0 "$mallow" status "$pid"
says out '^  live +[0-9.]+ MiB ± [0-9.]+ MiB in [0-9,.k]+ ± [0-9,.k]+ objects'
says out '^  walked +9[0-9.]+ MiB in blocks'
says_not out 'pending'
ok "an idle process, walked at the reader's request"

# The library's own data are the allocator's, whatever its name.
metadata_of() {
    "$mallow" status --json "$pid" | python3 -c 'import json, sys
print(json.load(sys.stdin)["memory"]["metadata"])'
}
for name in libmallow.so libjemalloc.so.2 libc_malloc.so; do
    cp "$build/lib/libmallow.so" "$name"
    library=$work/$name run_lazy 0 background_thread:true
    metadata_of >"$name.bytes"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
done
whole=$(cat libmallow.so.bytes)
for name in libjemalloc.so.2 libc_malloc.so; do
    bytes=$(cat $name.bytes)
    [ $((bytes > whole ? bytes - whole : whole - bytes)) -lt 32768 ] ||
        fail "metadata under the name $name: $bytes, not $whole"
done
ok "the same rows under any name"

# Nobody in it looks at requests: the age of its last walk is shown, which is of nearly all.
run_lazy 0
sleep 1
try 0 "$mallow" status "$pid"
says out '^  walked +(8[89]|9)[0-9.]+ MiB in blocks.* walked [1-9][0-9.]* s ago'
says_not out 'pending'
ok "a process that does not answer"

# Two that allocate, and two that never do: those the library does not know.
run_lazy 4 background_thread:true
try 0 "$mallow" status --json "$pid"
python3 - out <<'END' || fail "the account is wrong"
import json, sys
memory = json.load(open(sys.argv[1]))["memory"]
MIB = 1 << 20
assert 6 * MIB <= memory["stacks"] < 7 * MIB, memory["stacks"]
assert 56 * MIB <= memory["mapped"] < 58 * MIB, memory["mapped"]
END
ok "stacks of threads"
