/* SPDX-License-Identifier: MIT
 * key_destructors.c -- 3,000 threads whose destructors of thread-specific data allocate and free,
 * in each of the four rounds the C library grants: after the library's own destructor has ended the
 * thread's heap.  Nothing may be lost by it: resident memory must not grow with the threads. */
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "programs.h"

enum { THREADS = 3000, AT_ONCE = 6, KEYS = 40, BLOCKS = 50 };

static pthread_key_t keys[KEYS];
static __thread int rounds;

/* Comes again until the C library gives up. */
static void destroy(void *value) {
	char **blocks = value;
	rounds++;
	char **fresh = calloc(BLOCKS, sizeof *fresh);
	MUST(fresh != NULL);
	for (int i = 0; i < BLOCKS; i++) {
		MUST(blocks[i][0] == (char)i);
		free(blocks[i]);
		fresh[i] = malloc((size_t)(i * 41 + 1));
		MUST(fresh[i] != NULL);
		fresh[i][0] = (char)i;
	}
	free(blocks);
	if (rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		MUST(pthread_setspecific(keys[0], fresh) == 0);
		return;
	}
	/* The last time: free all; the heap made for it stays behind unless the library sees to it.
	 */
	for (int i = 0; i < BLOCKS; i++)
		free(fresh[i]);
	free(fresh);
}

static void destroy_late(void *value) {
	free(value);
	free(malloc(500));
}

static void *work(void *argument) {
	char **blocks = calloc(BLOCKS, sizeof *blocks);
	MUST(blocks != NULL);
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc((size_t)(i * 41 + 1));
		MUST(blocks[i] != NULL);
		blocks[i][0] = (char)i;
	}
	MUST(pthread_setspecific(keys[0], blocks) == 0);
	/* Beyond 32 keys the C library allocates their places. */
	for (int i = 1; i < KEYS; i++)
		MUST(pthread_setspecific(keys[i], malloc((size_t)i * 10)) == 0);
	return argument;
}

int main(void) {
	must_be_mallow();
	MUST(pthread_key_create(&keys[0], destroy) == 0);
	for (int i = 1; i < KEYS; i++)
		MUST(pthread_key_create(&keys[i], destroy_late) == 0);
	long early = 0;
	for (int round = 0; round < THREADS / AT_ONCE; round++) {
		pthread_t threads[AT_ONCE];
		for (int i = 0; i < AT_ONCE; i++)
			MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
		for (int i = 0; i < AT_ONCE; i++)
			MUST(pthread_join(threads[i], NULL) == 0);
		if (round == 50)
			early = resident_kib();
	}
	long late = resident_kib();
	printf("%d threads; resident %ld KiB after 300 of them, %ld KiB at the end\n", THREADS,
	       early, late);
	/* Twice and a MiB: what differs between rounds is which pages happen to be touched. */
	MUST(late <= 2 * early + 1024);
	return 0;
}
