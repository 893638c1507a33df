/* SPDX-License-Identifier: MIT
 * mallctl_bench.c -- what jemalloc's controls cost: a statistic read by its MIB and by its name,
 * and a write to "epoch" with 100 threads that have a heap of some 10 MiB together.  Medians of 15
 * turns. Run with LD_LIBRARY_PATH at either libjemalloc.so.2 (doc/reference/jemalloc.md). */
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 15, READS = 200000, REFRESHES = 20, THREADS = 100, BLOCKS = 200, BYTES = 500 };

static pthread_barrier_t ready, over;

static double now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_size(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *figures) {
	qsort(figures, TURNS, sizeof *figures, by_size);
	return figures[TURNS / 2];
}

static void read_by_mib(const char *name) {
	size_t mib[8], parts = 8, value, length = sizeof value;
	double figures[TURNS];
	if (mallctlnametomib(name, mib, &parts) != 0)
		exit(1);
	for (int turn = 0; turn < TURNS; turn++) {
		double start = now_ns();
		for (int i = 0; i < READS; i++)
			mallctlbymib(mib, parts, &value, &length, NULL, 0);
		figures[turn] = (now_ns() - start) / READS;
	}
	printf("%-40s by MIB  %8.1f ns\n", name, median(figures));
}

static void read_by_name(const char *name) {
	size_t value, length = sizeof value;
	double figures[TURNS];
	for (int turn = 0; turn < TURNS; turn++) {
		double start = now_ns();
		for (int i = 0; i < READS / 10; i++)
			mallctl(name, &value, &length, NULL, 0);
		figures[turn] = (now_ns() - start) / (READS / 10);
	}
	printf("%-40s by name %8.1f ns\n", name, median(figures));
}

static void refresh(const char *when) {
	double figures[TURNS];
	for (int turn = 0; turn < TURNS; turn++) {
		double start = now_ns();
		for (int i = 0; i < REFRESHES; i++) {
			uint64_t epoch = 1;
			mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
		}
		figures[turn] = (now_ns() - start) / REFRESHES / 1000;
	}
	printf("epoch, %-33s         %8.1f us\n", when, median(figures));
}

static void *hold_blocks(void *unused) {
	void *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc((size_t)(i % 10 + 1) * (BYTES / 5));
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&over);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return unused;
}

int main(void) {
	static pthread_t threads[THREADS];
	uint64_t epoch = 1;
	mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
	read_by_mib("stats.allocated");
	read_by_mib("stats.arenas.0.pactive");
	read_by_mib("stats.arenas.0.bins.3.curregs");
	read_by_name("stats.allocated");
	read_by_name("stats.arenas.0.bins.3.curregs");
	refresh("1 thread");
	pthread_barrier_init(&ready, NULL, THREADS + 1);
	pthread_barrier_init(&over, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, hold_blocks, NULL) != 0)
			return 1;
	pthread_barrier_wait(&ready);
	refresh("100 threads");
	pthread_barrier_wait(&over);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
