/* SPDX-License-Identifier: MIT
 * double_free_threads.c -- frees a block in one thread and then in another. */
#include <pthread.h>

#include "misuse.h"

static void *work(void *block) {
	free(block);
	free(malloc(64));
	return NULL;
}

int main(void) {
	void *block = malloc(64), *other = malloc(64);
	pthread_t thread;
	announce(block);
	pthread_create(&thread, NULL, work, block);
	pthread_join(thread, NULL);
	free(other);
	free(block);
	return 0;
}
