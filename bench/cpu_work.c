/* SPDX-License-Identifier: MIT
 * cpu_work.c THREADS SECONDS -- threads that do a fixed amount of work together: some two seconds
 * of a processor's time for SECONDS 2. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_MAX 64

static long rounds;

static __attribute__((noinline)) unsigned long mix(unsigned long value, int depth) {
	for (int i = 0; i < 200; i++)
		value = value * 6364136223846793005u + 1442695040888963407u;
	return depth > 0 ? mix(value, depth - 1) ^ value : value;
}

static void *work(void *unused) {
	volatile unsigned long sum = 0;
	(void)unused;
	for (long i = 0; i < rounds; i++)
		sum += mix((unsigned long)i, 20);
	return NULL;
}

int main(int count, char **arguments) {
	int threads = count > 2 ? atoi(arguments[1]) : 0;
	pthread_t started[THREADS_MAX];
	if (threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: cpu_work THREADS SECONDS\n");
		return 2;
	}
	rounds = (long)(atof(arguments[2]) * 165000) / threads;
	for (int i = 0; i < threads; i++)
		pthread_create(&started[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(started[i], NULL);
	return 0;
}
