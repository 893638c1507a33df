/* SPDX-License-Identifier: MIT
 * interposed.c -- a program that makes malloc call the kernel in each way: blocks of all sizes,
 * memory that grows and is returned, samples, threads that wait for each other's locks, and a
 * child.
 * interposed [ROUNDS]: how often each thread does its work, 1 time unless it is given. */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 3000, THREADS = 3 };

static void require(int condition) {
	if (!condition)
		abort();
}

static void *work(void *unused) {
	static __thread char *blocks[BLOCKS];
	(void)unused;
	for (size_t i = 0; i < BLOCKS; i++) {
		size_t bytes = i * 37 % 6000 + 1;
		require((blocks[i] = malloc(bytes)) != NULL);
		memset(blocks[i], 1, bytes);
		if (i % 3 == 0) {
			free(blocks[i]);
			blocks[i] = calloc(1, bytes);
			require(blocks[i] != NULL && blocks[i][bytes - 1] == 0);
		}
	}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return NULL;
}

static int rounds = 1;

static void *work_often(void *unused) {
	for (int i = 0; i < rounds; i++)
		work(unused);
	return NULL;
}

static void large_blocks(void) {
	char *block = malloc((size_t)1 << 20);
	require(block != NULL);
	for (size_t mib = 2; mib <= 16; mib *= 2) {
		block = realloc(block, mib << 20);
		require(block != NULL);
		block[(mib << 20) - 1] = 1;
	}
	free(block);
	malloc_trim(0);
}

/* ThreadSanitizer itself may hang in a fork while threads run, with any malloc. */
static void fork_one(void) {
#ifndef WITHOUT_FORK
	int status;
	pid_t child = fork();
	require(child >= 0);
	if (child == 0) {
		work(NULL);
		exit(0);
	}
	require(waitpid(child, &status, 0) == child && status == 0);
#endif
}

int main(int argc, char **argv) {
	pthread_t threads[THREADS];
	if (argc > 1)
		rounds = atoi(argv[1]);
	work(NULL);
	large_blocks();
	for (int i = 0; i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, work_often, NULL) == 0);
	fork_one();
	for (int i = 0; i < THREADS; i++)
		require(pthread_join(threads[i], NULL) == 0);
	large_blocks();
	return 0;
}
