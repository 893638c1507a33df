/* SPDX-License-Identifier: MIT
 * thread_cost.c -- what a thread costs: 256 threads that hold a few blocks of a dozen sizes and
 * idle, and the same once they have freed them.  At most 64 KiB of resident memory each, blocks
 * included. */
#include <pthread.h>

#include "programs.h"

enum { THREADS = 256, LIMIT_KIB = 64 };

static pthread_barrier_t barrier;

/* About 5 KiB, as a thread has that waits for work: its own state, a buffer, some strings. */
static const size_t sizes[] = {16, 24, 32, 48, 64, 100, 128, 200, 300, 512, 1000, 2000};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

static void *idle(void *unused) {
	char *blocks[SIZES];
	pthread_barrier_wait(&barrier); /* all run */
	pthread_barrier_wait(&barrier); /* measured */
	for (int i = 0; i < SIZES; i++) {
		blocks[i] = malloc(sizes[i]);
		MUST(blocks[i] != NULL);
		memset(blocks[i], 1, sizes[i]);
	}
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* measured */
	for (int i = 0; i < SIZES; i++)
		free(blocks[i]);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* measured */
	return unused;
}

/* Exact, unlike resident_kib(). */
static long exact_resident_kib(void) {
	char line[256];
	long kib = -1;
	FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
	MUST(rollup != NULL);
	while (kib < 0 && fgets(line, sizeof(line), rollup))
		if (sscanf(line, "Rss: %ld", &kib) != 1)
			kib = -1;
	fclose(rollup);
	MUST(kib > 0);
	return kib;
}

static long measure(void) {
	pthread_barrier_wait(&barrier);
	long kib = exact_resident_kib();
	pthread_barrier_wait(&barrier);
	return kib;
}

int main(void) {
	must_be_mallow();
	pthread_t threads[THREADS];
	MUST(pthread_barrier_init(&barrier, NULL, THREADS + 1) == 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, idle, NULL) == 0);
	long before = measure(), holding = measure(), after = measure();
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	long each = (holding - before) / THREADS, freed = (after - before) / THREADS;
	printf("%d threads: %ld KiB each with blocks of %d sizes, %ld KiB once they are freed\n",
	       THREADS, each, SIZES, freed);
	MUST(each <= LIMIT_KIB && freed <= LIMIT_KIB);
	return 0;
}
