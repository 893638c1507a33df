/* SPDX-License-Identifier: MIT
 * early_library.c -- a shared library that is initialised before the preloaded one, whose handlers
 * of fork(2) allocate: they run while the allocator holds its locks, unless its own handlers were
 * registered first.  Its destructor allocates, too. */
#include <pthread.h>

#include "programs.h"

static int calls;
int early_library_calls(void);

static void allocate(void) {
	/* Large too: its lock is another one. */
	for (size_t bytes = 1; bytes < (size_t)16 << 20; bytes *= 3) {
		char *block = malloc(bytes);
		MUST(block != NULL);
		block[bytes - 1] = 1;
		free(block);
	}
	calls++;
}

__attribute__((constructor)) static void start(void) {
	MUST(pthread_atfork(allocate, allocate, allocate) == 0);
}

/* The preloaded library is finished before this one. */
__attribute__((destructor)) static void finish(void) {
	allocate();
}

int early_library_calls(void) {
	return calls;
}
