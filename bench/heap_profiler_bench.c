/* SPDX-License-Identifier: MIT
 * heap_profiler_bench.c -- allocates and frees by some hundred stacks in several threads, for
 * heap_profiler.py.  Usage: bench_heap_profiler THREADS PAIRS (of malloc and free, in each thread)
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define HELD 1024u /* blocks that a thread holds */
#define DEPTH 12u

static long pairs;

static __attribute__((noinline)) void *allocate(unsigned depth, uint32_t path) {
	if (depth == 0)
		return malloc(16 + path % 500);
	void *block = path >> depth & 1 ? allocate(depth - 1, path) : allocate(depth - 1, path + 1);
	__asm__ volatile("" ::: "memory");
	return block;
}

static void *run(void *seed) {
	static __thread void *held[HELD];
	uint64_t state = (uint64_t)(uintptr_t)seed * 2654435761u + 1;
	for (long i = 0; i < pairs; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		unsigned place = (unsigned)(state >> 33) % HELD;
		free(held[place]);
		/* 128 stacks: the lower bits choose the calls. */
		held[place] = allocate(DEPTH, (uint32_t)(state >> 40) & 0x7f);
	}
	for (unsigned i = 0; i < HELD; i++)
		free(held[i]);
	return NULL;
}

int main(int count, char **arguments) {
	long threads = count > 2 ? atol(arguments[1]) : 0;
	pthread_t ids[64];
	if (threads < 1 || threads > 64)
		return 2;
	pairs = atol(arguments[2]);
	for (long i = 1; i < threads; i++)
		if (pthread_create(&ids[i], NULL, run, (void *)(uintptr_t)i) != 0)
			return 1;
	run(NULL);
	for (long i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
