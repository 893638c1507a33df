/* SPDX-License-Identifier: MIT
 * parts.c -- threads that make and free blocks of three sizes at one place, a known number of each.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 5, TURNS = 3000, KEPT = 100 };

static void *kept[THREADS][KEPT];

static __attribute__((noinline)) void *make_shared(size_t turn) {
	return malloc(turn % 3 == 0 ? 40 : turn % 3 == 1 ? 100 : 1000);
}

static void *work(void *argument) {
	void **mine = argument;
	for (size_t i = 0; i < TURNS; i++) {
		free(mine[i % KEPT]);
		mine[i % KEPT] = make_shared(i);
	}
	return NULL;
}

int main(void) {
	pthread_t threads[THREADS];
	char byte;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, kept[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (write(1, "ready\n", 6) != 6)
		return 1;
	/* For each byte a large block, so that orders from outside are seen. */
	while (read(0, &byte, 1) == 1) {
		void *volatile block = malloc(3 << 20);
		free(block);
		if (write(1, "done\n", 5) != 5)
			return 1;
	}
	return 0;
}
