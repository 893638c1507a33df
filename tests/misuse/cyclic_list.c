/* SPDX-License-Identifier: MIT
 * cyclic_list.c -- frees a block twice, not in a row, and ends the thread whose list has no end
 * now.  The next thread goes on with the list.  The page is named: which of its blocks did it
 * nobody can say. */
#include <pthread.h>
#include <stdint.h>

#include "misuse.h"

/* All blocks of the size class that are linked at once: the thread's list is empty then. */
enum { BLOCKS = 64 };

static void *work(void *argument) {
	char *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(64);
	announce((void *)((uintptr_t)blocks[0] & ~(uintptr_t)0xffff));
	free(blocks[0]);
	free(blocks[1]);
	free(blocks[0]);
	return malloc(64) ? argument : NULL;
}

static void *go_on(void *argument) {
	void *last = argument;
	for (int i = 0; i < 2 * BLOCKS; i++)
		last = malloc(64);
	return last;
}

int main(void) {
	pthread_t thread;
	return pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL) ||
	       pthread_create(&thread, NULL, go_on, NULL) || pthread_join(thread, NULL);
}
