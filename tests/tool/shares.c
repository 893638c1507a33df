/* SPDX-License-Identifier: MIT
 * shares.c THREADS SECONDS -- ten functions that take turns in each thread. Prints for each how
 * many nanoseconds of CPU time it used by the threads' clocks, and the process's by getrusage(2).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define FUNCTIONS 10

static _Atomic uint64_t used_ns[FUNCTIONS];
static double limit_ns;

static uint64_t process_ns(void) {
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000u;
}

static uint64_t thread_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Each has a body of its own, so that the compiler does not merge them. */
#define WORK(n)                                                                                    \
	__attribute__((noinline)) static void work##n(uint64_t rounds) {                           \
		for (volatile uint64_t i = (n); i < rounds + (n); i++) {                           \
		}                                                                                  \
	}
WORK(1)
WORK(2)
WORK(3)
WORK(4)
WORK(5)
WORK(6)
WORK(7)
WORK(8)
WORK(9)
WORK(10)

static void (*const work[FUNCTIONS])(uint64_t) = {work1, work2, work3, work4, work5,
						  work6, work7, work8, work9, work10};

static void *run(void *unused) {
	(void)unused;
	uint64_t own[FUNCTIONS] = {0};
	/* Turns have random lengths, so that none falls into step with the kernel's tick. */
	uint64_t seed = 0x9e3779b97f4a7c15u ^ (uintptr_t)&seed;
	while ((double)process_ns() < limit_ns) {
		for (unsigned i = 0; i < FUNCTIONS; i++) {
			uint64_t begin = thread_ns();
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			work[i]((i + 1) * (6000 + (seed >> 33) % 12000));
			own[i] += thread_ns() - begin;
		}
	}
	for (unsigned i = 0; i < FUNCTIONS; i++)
		used_ns[i] += own[i];
	return NULL;
}

int main(int argc, char **argv) {
	if (argc < 3)
		return 2;
	int threads = atoi(argv[1]);
	limit_ns = atof(argv[2]) * 1e9;
	pthread_t ids[64];
	for (int i = 0; i < threads && i < 64; i++)
		pthread_create(&ids[i], NULL, run, NULL);
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(ids[i], NULL);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		printf("work%u %llu\n", i + 1, (unsigned long long)used_ns[i]);
	printf("process %llu\n", (unsigned long long)process_ns());
	return 0;
}
