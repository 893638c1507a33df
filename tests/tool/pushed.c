/* SPDX-License-Identifier: MIT
 * pushed.c -- does what each byte of its input says, and answers with a '.': 'a' allocates, some
 * blocks stay; 'm' maps memory; 'c' computes for a while; the end of the input ends it. */
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { KEPT_MAX = 10000 };
static void *volatile kept[KEPT_MAX];
static unsigned kept_count;
static volatile double sum;

static __attribute__((noinline)) void keep_blocks(size_t size) {
	for (int i = 0; i < 100 && kept_count < KEPT_MAX; i++) {
		kept[kept_count++] = malloc(size);
		if (i % 2 == 0)
			free(kept[--kept_count]);
	}
}

static __attribute__((noinline)) void map_memory(void) {
	char *memory =
		mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		*memory = 1;
}

/* For a third of a second of CPU time. */
static __attribute__((noinline)) void compute(void) {
	struct timespec from, now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	do {
		for (int i = 0; i < 100000; i++)
			sum = sum + i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while ((double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) / 1e9 <
		 0.3);
}

int main(void) {
	char order;
	while (read(0, &order, 1) == 1) {
		if (order == 'a')
			keep_blocks(1000);
		else if (order == 'm')
			map_memory();
		else if (order == 'c')
			compute();
		else
			continue;
		if (write(1, ".", 1) != 1)
			return 1;
	}
	return 0;
}
