/* SPDX-License-Identifier: MIT
 * leak_check.c [GiB [BLOCK_BYTES [THREADS]]] -- pause and search of mallow_leak_check() in a
 * process with so much resident memory, in a linked list, and threads that call malloc meanwhile:
 * the median and the longest of nine checks, and the slowest call of malloc. */
#define MALLOW_WEAK
#include <mallow/mallow.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHECKS = 9, THREADS_MAX = 64 };

static void *head;
static _Atomic int is_over;

static uint64_t now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns the longest time of a pair of malloc and free. */
static void *allocate(void *unused) {
	(void)unused;
	uint64_t longest_ns = 0;
	while (!atomic_load(&is_over)) {
		uint64_t start_ns = now_ns();
		void *volatile block = malloc(100);
		free(block);
		uint64_t took_ns = now_ns() - start_ns;
		longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
	}
	return (void *)(uintptr_t)longest_ns;
}

static int compare(const void *a, const void *b) {
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv) {
	double gib = argc > 1 ? atof(argv[1]) : 1;
	size_t bytes = argc > 2 ? (size_t)atol(argv[2]) : 256;
	int threads = argc > 3 ? atoi(argv[3]) : 1;
	uint64_t pauses_ns[CHECKS], scans_ns[CHECKS], longest_ns = 0;
	mallow_leaks_t leaks = {.size = sizeof leaks};
	pthread_t thread[THREADS_MAX];
	if (!mallow_leak_check || bytes < sizeof(void *) || threads < 0 || threads > THREADS_MAX) {
		fputs("run it with libmallow.so preloaded: leak_check [GiB [BLOCK_BYTES "
		      "[THREADS, at most 64]]]\n",
		      stderr);
		return 2;
	}
	for (double left = gib * (1 << 30); left > 0; left -= (double)bytes) {
		void **block = malloc(bytes);
		if (!block)
			return 2;
		memset(block, 1, bytes);
		*block = head;
		head = block;
	}
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, allocate, NULL);
	for (int i = 0; i < CHECKS; i++) {
		int error = mallow_leak_check(&leaks);
		if (error != 0) {
			fprintf(stderr, "mallow_leak_check: %s\n", strerror(error));
			return 2;
		}
		pauses_ns[i] = leaks.pause_ns;
		scans_ns[i] = leaks.scan_ns;
	}
	atomic_store(&is_over, 1);
	for (int i = 0; i < threads; i++) {
		void *slowest;
		pthread_join(thread[i], &slowest);
		longest_ns = (uintptr_t)slowest > longest_ns ? (uintptr_t)slowest : longest_ns;
	}
	qsort(pauses_ns, CHECKS, sizeof *pauses_ns, compare);
	qsort(scans_ns, CHECKS, sizeof *scans_ns, compare);
	double live_gib = (double)leaks.live_bytes / (1 << 30);
	printf("%.1f GiB in blocks of %zu bytes, %d other threads: pause %.2f ms (longest %.2f), "
	       "search %.0f ms (%.2f GiB/s), slowest malloc and free %.2f ms, leaked %lu\n",
	       live_gib, bytes, threads, (double)pauses_ns[CHECKS / 2] / 1e6,
	       (double)pauses_ns[CHECKS - 1] / 1e6, (double)scans_ns[CHECKS / 2] / 1e6,
	       live_gib / ((double)scans_ns[CHECKS / 2] / 1e9), (double)longest_ns / 1e6,
	       (unsigned long)(leaks.direct_blocks + leaks.indirect_blocks));
	return 0;
}
