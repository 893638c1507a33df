/* SPDX-License-Identifier: MIT
 * workload.h -- what every workload shares: random numbers from a fixed seed, allocation that must
 * not fail, a sum over what was read back, and the resident memory of the process.
 *
 * A workload does the same operations in every run, whatever the allocator.  It prints "sum N": the
 * harness compares it between allocators, so a block that lost its contents shows.  Lines of the
 * form "note NAME N" are further figures. */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* First in what a thread writes to at every turn: two threads' states in one cache line, or in the
 * two that are fetched together, cost more than any allocator does, and where the stack of main()
 * begins is chance. */
#define WL_OWN_LINES _Alignas(128)

/* splitmix64: one multiplication chain, no table, the same everywhere. */
static inline uint64_t wl_random(uint64_t *state) {
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline uint32_t wl_below(uint64_t *state, uint32_t limit) {
	return (uint32_t)(((wl_random(state) >> 32) * limit) >> 32);
}

/* Many small, few large, as programs do: each doubling of size is half as likely as the last. */
static inline size_t wl_skewed_size(uint64_t *state, unsigned smallest_log2,
				    unsigned largest_log2) {
	uint64_t bits = wl_random(state);
	unsigned steps = largest_log2 - smallest_log2;
	unsigned step = (unsigned)__builtin_ctzll((bits >> 32) | (UINT64_C(1) << steps));
	if (step >= steps)
		step = steps - 1;
	size_t base = (size_t)1 << (smallest_log2 + step);
	return base + (bits & (base - 1));
}

static inline void wl_die(const char *what) {
	fprintf(stderr, "workload: %s\n", what);
	exit(2);
}

static inline void *wl_check(void *block) {
	if (!block)
		wl_die("out of memory");
	return block;
}

static inline void *wl_malloc(size_t bytes) {
	return wl_check(malloc(bytes));
}

/* The same, each doubling three quarters as likely: most bytes are in large blocks. */
static inline size_t wl_wide_size(uint64_t *state, unsigned smallest_log2, unsigned largest_log2) {
	uint64_t bits = wl_random(state);
	unsigned step = 0, steps = largest_log2 - smallest_log2;
	while (step + 1 < steps && (wl_random(state) & 3) != 0)
		step++;
	size_t base = (size_t)1 << (smallest_log2 + step);
	return base + (bits & (base - 1));
}

/* A block that carries its own mark: written at both ends when made, read when freed. */
static inline unsigned char *wl_make(size_t bytes, uint64_t mark) {
	unsigned char *block = (unsigned char *)wl_malloc(bytes);
	block[0] = (unsigned char)mark;
	block[bytes - 1] = (unsigned char)mark;
	return block;
}

static inline uint64_t wl_drop(unsigned char *block) {
	uint64_t mark = block[0];
	free(block);
	return mark;
}

static inline pthread_t wl_thread(void *(*body)(void *), void *argument) {
	pthread_t thread;
	if (pthread_create(&thread, NULL, body, argument) != 0)
		wl_die("no thread");
	return thread;
}

/* Exact, unlike statm, whose counters lag behind by some pages a processor. */
static inline uint64_t wl_resident_kib(void) {
	char text[4096];
	int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (length < 0)
		return 0;
	text[length] = 0;
	const char *line = strstr(text, "\nRss:");
	return line ? strtoull(line + 5, NULL, 10) : 0;
}

static inline void wl_note(const char *name, uint64_t value) {
	printf("note %s %" PRIu64 "\n", name, value);
}

static inline unsigned wl_argument(int argc, char **argv, int index, unsigned otherwise) {
	return argc > index ? (unsigned)strtoul(argv[index], NULL, 10) : otherwise;
}

static inline int wl_finish(uint64_t sum) {
	printf("sum %" PRIu64 "\n", sum);
	return 0;
}

#endif
