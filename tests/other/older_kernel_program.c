/* SPDX-License-Identifier: MIT
 * older_kernel_program.c -- the program of older_kernel.sh: 48 MiB by keep_large(), 8 MiB by
 * keep_small() of each of four threads, a child of fork(2), resized and freed blocks. Prints
 * "ready", then waits for the end of its input. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define LARGE 48
#define MIB ((size_t)1 << 20)
#define SMALL_BYTES 256
#define SMALLS (8 * MIB / SMALL_BYTES)

static void *large[LARGE], *small[THREADS][SMALLS];

static void need(int condition, const char *what) {
	if (condition)
		return;
	fprintf(stderr, "FAILED: %s\n", what);
	exit(1);
}

__attribute__((noinline)) static void keep_large(void) {
	for (int i = 0; i < LARGE; i++)
		need((large[i] = calloc(1, MIB)) != NULL, "calloc of 1 MiB");
}

__attribute__((noinline)) static void keep_small(void **blocks) {
	for (size_t i = 0; i < SMALLS; i++) {
		need((blocks[i] = malloc(SMALL_BYTES)) != NULL, "malloc");
		memset(blocks[i], 0x5a, SMALL_BYTES);
	}
}

__attribute__((noinline)) static void use_and_free(void) {
	char *block = NULL;
	for (size_t bytes = 64; bytes < 64 * MIB; bytes *= 2)
		need((block = realloc(block, bytes)) != NULL, "realloc");
	free(block);
}

static void *work(void *blocks) {
	keep_small(blocks);
	use_and_free();
	return NULL;
}

int main(void) {
	pthread_t threads[THREADS];
	int status = -1;
	keep_large();
	for (int i = 0; i < THREADS; i++)
		need(pthread_create(&threads[i], NULL, work, small[i]) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pid_t child = fork();
	if (child == 0) {
		use_and_free();
		_exit(7);
	}
	need(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "the child");
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		use_and_free();
	for (int i = 0; i < LARGE; i++)
		need(*(volatile char *)large[i] == 0, "the bytes of calloc");
	for (size_t i = 0; i < THREADS * SMALLS; i++)
		need(*(volatile char *)small[i / SMALLS][i % SMALLS] == 0x5a, "the bytes written");
	return 0;
}
