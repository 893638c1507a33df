/* SPDX-License-Identifier: MIT
 * inside_small_thread.c -- frees an address inside a small block of another thread. */
#include <pthread.h>

#include "misuse.h"

static void *work(void *block) {
	free(block);
	return NULL;
}

int main(void) {
	char *block = malloc(64);
	pthread_t thread;
	announce(block + 16);
	pthread_create(&thread, NULL, work, block + 16);
	pthread_join(thread, NULL);
	return 0;
}
