/* SPDX-License-Identifier: MIT
 * musl_program.c -- keeps 48 MiB in large blocks and 8 MiB in small ones, of which 60 are lost,
 * in threads, in a child of fork(2), too; then waits for the end of its input, and computes
 * meanwhile with the argument "compute". */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP __attribute__((noinline))
enum { LARGE = 48, SMALL = 8192, LOST = 60, THREADS = 4 };

static char *volatile large[LARGE], *volatile small[THREADS][SMALL / THREADS];

STEP static void keep_large(void) {
	for (int i = 0; i < LARGE; i++) {
		large[i] = malloc(1 << 20);
		memset(large[i], 1, 1 << 20);
	}
}

STEP static void *keep_small(void *number) {
	for (int i = 0; i < SMALL / THREADS; i++)
		small[(size_t)number][i] = malloc(1000);
	return NULL;
}

STEP static void lose(void) {
	for (int i = 0; i < LOST; i++)
		*(char *volatile *)malloc(100000) = NULL;
}

/* A stack without the addresses of the lost blocks. */
STEP static void clear_stack(void) {
	char room[20000];
	memset(room, 0, sizeof room);
	__asm__ volatile("" ::"r"(room) : "memory");
}

STEP static void compute_on(void) {
	volatile double value = 1;
	for (;;)
		value = value * 1.0000001 + 0.5;
}

static void *compute(void *unused) {
	compute_on();
	return unused;
}

int main(int count, char **arguments) {
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, keep_small, (void *)i) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	keep_large();
	lose();
	clear_stack();
	for (int i = 0; i < 20; i++) {
		int status;
		pid_t child = fork();
		if (child == 0) {
			free(malloc(1 << 20));
			_exit(keep_small(NULL) != NULL);
		}
		if (waitpid(child, &status, 0) != child || status != 0)
			return 2;
	}
	if (count > 1 && strcmp(arguments[1], "compute") == 0 &&
	    pthread_create(&threads[0], NULL, compute, NULL) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
