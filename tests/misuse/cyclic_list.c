/* SPDX-License-Identifier: MIT
 * cyclic_list.c -- frees a block twice, not in a row, and ends the thread whose list has no end
 * now; then the lists of ended threads return to their pages.  The page is named: which of its
 * blocks did it nobody can say. */
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

int main(void) {
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
		return 2;
	return malloc_trim(0);
}
