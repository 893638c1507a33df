/* SPDX-License-Identifier: MIT
 * misuse.h -- what the programs of this folder share: each does one thing wrong, says first on
 * stdout which address it will do it to, and must not get past it (expected.txt holds the message).
 */
#ifndef MISUSE_H
#define MISUSE_H

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

/* Names the address in the message to come; flushed, as abort() flushes nothing. */
static inline void announce(const void *block) {
	printf("%p\n", block);
	fflush(stdout);
}

/* A function that no library brings but the one that is tested. */
static inline void *not_in_libc(const char *name) {
	void *function = dlsym(RTLD_DEFAULT, name);
	if (!function)
		exit(2);
	return function;
}

#endif
