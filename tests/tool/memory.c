/* SPDX-License-Identifier: MIT
 * memory.c -- memory of every kind that `mallow status` tells apart: blocks in pages of which most
 * others were freed, large and huge blocks, a freed huge one, stacks of threads, other mappings.
 * When it is ready it goes on allocating, so that requests are answered, until its input ends. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALL = 200000, LARGE = 40, HUGE_BLOCKS = 3 };

static void *fill(void *block, size_t bytes) {
	return memset(block, 1, bytes);
}

/* Every fifth block stays: their pages cannot go back. */
static __attribute__((noinline)) void *make_scattered(void) {
	return fill(malloc(100), 100);
}

static __attribute__((noinline)) void *make_dense(void) {
	return fill(malloc(500), 500);
}

static sem_t has_stack;

static void *use_stack(void *unused) {
	char buffer[600 << 10];
	void *volatile block = malloc(10); /* by which the library knows the thread */
	(void)block;
	fill(buffer, sizeof(buffer));
	sem_post(&has_stack);
	pause();
	return unused;
}

int main(void) {
	static void *scattered[SMALL], *dense[SMALL / 20];
	void *large[LARGE], *huge[HUGE_BLOCKS];
	pthread_t thread;
	for (size_t i = 0; i < SMALL; i++)
		scattered[i] = make_scattered();
	for (size_t i = 0; i < SMALL / 20; i++)
		dense[i] = make_dense();
	for (size_t i = 0; i < LARGE; i++)
		large[i] = fill(malloc(200000), 200000);
	for (size_t i = 0; i < HUGE_BLOCKS; i++)
		huge[i] = fill(malloc(6 << 20), 6 << 20);
	void *mapping =
		mmap(NULL, 7 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapping == MAP_FAILED || sem_init(&has_stack, 0, 0) != 0 ||
	    pthread_create(&thread, NULL, use_stack, NULL) != 0 || sem_wait(&has_stack) != 0)
		return 1;
	fill(mapping, 7 << 20);
	usleep(200000);
	for (size_t i = 0; i < SMALL; i++)
		if (i % 5 != 0)
			free(scattered[i]);
	/* Its samples' frees come after a tick's time. */
	usleep(200000);
	free(huge[0]);
	free(malloc(3 << 20));
	if (write(1, "ready\n", 6) != 6)
		return 1;
	for (struct pollfd input = {.fd = 0, .events = POLLIN}; poll(&input, 1, 20) <= 0;)
		free(malloc(3 << 20));
	return dense[0] && large[0] ? 0 : 1;
}
