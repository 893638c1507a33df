/* SPDX-License-Identifier: MIT
 * exposure.c -- how well an attacker can foretell where a heap puts blocks, and what a stale
 * pointer still reads.  Prints lines "name value". Usage: exposure; exposure loop TURNS BYTES
 * (malloc and free, for instruction counts). exposure.py runs it. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 400, LOW_BITS = 22, SECRET = 0x5e, SIZES = 4, RETURN_STEPS = 2000, LIVE = 100 };
#define SECRET_WORD UINT32_C(0x5e5e5e5e)

static int compare(const void *left, const void *right) {
	uintptr_t a = *(const uintptr_t *)left, b = *(const uintptr_t *)right;
	return (a > b) - (a < b);
}

/* The smallest distance between two of the blocks: they are neighbours. */
static uintptr_t pitch_of(const uintptr_t *blocks, int count) {
	static uintptr_t sorted[STEPS + 1];
	uintptr_t pitch = UINTPTR_MAX;
	memcpy(sorted, blocks, (size_t)count * sizeof *blocks);
	qsort(sorted, (size_t)count, sizeof *sorted, compare);
	for (int i = 1; i < count; i++)
		if (sorted[i] - sorted[i - 1] < pitch)
			pitch = sorted[i] - sorted[i - 1];
	return pitch;
}

/* How often a fresh block lies right behind the one before. */
static void print_neighbours(size_t bytes) {
	static uintptr_t blocks[STEPS + 1];
	int next = 0;
	for (int i = 0; i <= STEPS; i++)
		blocks[i] = (uintptr_t)malloc(bytes);
	uintptr_t pitch = pitch_of(blocks, STEPS + 1);
	for (int i = 0; i < STEPS; i++)
		next += blocks[i + 1] - blocks[i] == pitch;
	printf("neighbours_%zu %d\n", bytes, next);
}

static sigjmp_buf fault_jump;

static void on_fault(int number) {
	(void)number;
	siglongjmp(fault_jump, 1);
}

/* How many of the block's bytes a stale pointer reads as they were, in words of 4: a single byte
 * may be so by chance. */
static size_t count_readable(const volatile uint32_t *stale, size_t bytes) {
	if (sigsetjmp(fault_jump, 1) != 0)
		return 0;
	size_t readable = 0;
	for (size_t i = 0; i < bytes / sizeof *stale; i++)
		readable += stale[i] == SECRET_WORD ? sizeof *stale : 0;
	return readable;
}

static void print_readable(size_t bytes) {
	uint32_t *block = malloc(bytes), *stale = block;
	void *neighbour = malloc(bytes);
	/* The compiler must not see that the pointer is stale. */
	__asm__ volatile("" : "+r"(stale));
	memset(block, SECRET, bytes);
	free(block);
	printf("readable_%zu %zu\n", bytes, count_readable(stale, bytes));
	free(neighbour);
}

/* After how many allocations a freed block is handed out again; RETURN_STEPS: not by then. */
static void print_return(size_t bytes) {
	void *live[LIVE];
	int steps = 1;
	for (int i = 0; i < LIVE; i++)
		live[i] = malloc(bytes);
	uintptr_t freed = (uintptr_t)live[LIVE / 2];
	free(live[LIVE / 2]);
	while (steps < RETURN_STEPS && (uintptr_t)malloc(bytes) != freed)
		steps++;
	printf("return_%zu %d\n", bytes, steps);
}

static int loop(long turns, size_t bytes) {
	for (long i = 0; i < turns; i++) {
		void *volatile block = malloc(bytes);
		free(block);
	}
	return 0;
}

int main(int argc, char **argv) {
	static const size_t readable_bytes[SIZES] = {100, 3000, 20000, 200000};
	if (argc == 4 && strcmp(argv[1], "loop") == 0)
		return loop(atol(argv[2]), strtoul(argv[3], NULL, 10));
	printf("place %lu\n", (unsigned long)((uintptr_t)malloc(64) & ((1ul << LOW_BITS) - 1)));
	print_neighbours(64);
	print_neighbours(1000);
	signal(SIGSEGV, on_fault);
	for (int i = 0; i < SIZES; i++)
		print_readable(readable_bytes[i]);
	print_return(64);
	print_return(3000);
	return 0;
}
