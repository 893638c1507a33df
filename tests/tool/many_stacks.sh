#!/bin/bash
# SPDX-License-Identifier: MIT
# many_stacks.sh BUILD_DIR -- a program that has ever new stacks, more than the tables hold: what is
# in use is named to the end, sums stay, and the profile does not grow, also for who reads while
# stacks are taken out, and after the program was killed.
source "$(dirname "$0")/lib.bash"
needs python3
cat >many.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define STACKS 200000u
static void *volatile last;
static void *volatile kept[100];
static void one(unsigned seed, unsigned depth);
static void two(unsigned seed, unsigned depth);
/* The bits of the seed choose the callers. */
__attribute__((noinline)) static void next(unsigned seed, unsigned depth) {
	if (depth == 18) {
		last = malloc(64);
		free(last);
		return;
	}
	if (seed >> depth & 1)
		one(seed, depth + 1);
	else
		two(seed, depth + 1);
	__asm__ volatile("");
}
__attribute__((noinline)) static void one(unsigned seed, unsigned depth) {
	next(seed, depth);
	__asm__ volatile("");
}
__attribute__((noinline)) static void two(unsigned seed, unsigned depth) {
	next(seed, depth);
	__asm__ volatile("");
}
__attribute__((noinline)) static void keep_one(unsigned i) {
	kept[i] = malloc(10000);
	__asm__ volatile("");
}
int main(void) {
	setvbuf(stdout, NULL, _IONBF, 0);
	for (unsigned i = 0; i < 100; i++)
		keep_one(i);
	puts("kept");
	for (unsigned seed = 0; seed < STACKS; seed++) {
		next(seed, 0);
		if (seed % 50 == 0)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	puts("done");
	getchar();
	return 0;
}
END
cc -O1 -g -fno-optimize-sibling-calls -o many many.c || fail "many.c does not compile"
mkfifo input
LD_PRELOAD=$build/lib/libmallow.so MALLOW_CONF=prof_sample:1,prof_state_min:0,prof_cost_limit:0 \
    ./many <input >said &
pid=$!
started+=("$pid")
exec {input}>input

# check_use: 100 blocks are in use, which keep_one() allocated; perhaps one more, which is about to
# be freed.
check_use() {
    try 0 "$mallow" traces --sample-type inuse_objects "$pid"
    says out '^Total: 10[01]$'
    says out '^ *100   keep_one$'
}
await 60 grep -q kept said
await 60 is_known "$pid"
readings=0
until grep -q "done" said; do
    check_use
    readings=$((readings + 1))
    [ "$readings" -lt 3000 ] || fail "the program does not come to its end"
done
[ "$readings" -gt 3 ] || fail "nothing was read meanwhile"
ok "what is in use is known all the time"

try 0 "$mallow" status --json "$pid"
python3 - out <<'END' || fail "the tables grew, or nothing was taken out"
import json, sys
status = json.load(open(sys.argv[1]))
assert status["stacks_forgotten"] > 100000, status["stacks_forgotten"]
assert status["stacks"] < 100000, status["stacks"]
assert not {"stacks_full", "frames_full"} & set(status["flags"]), status["flags"]
END
try 0 "$mallow" status "$pid"
says out 'forgotten +[0-9k]+ stacks to which nothing refers'
try 0 "$mallow" report --sample-type alloc_objects "$pid"
says out '^Total: +200k objects|^Total: +200100 objects'
says out 'Note: +stacks that were not used any more count as \[stack unknown\] here'
says out 'stack unknown'
try 0 "$mallow" report "$pid"
says_not out 'stack unknown'
ok "stacks that nothing refers to are taken out, and counted"

kill -9 "$pid"
await 60 has_ended "$pid"
check_use
exec {input}>&-
ok "likewise when the program was killed"
