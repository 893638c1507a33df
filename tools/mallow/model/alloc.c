/* SPDX-License-Identifier: MIT
 * alloc.c -- allocation that ends the command when there is no memory. */
#include "model/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory_limit.h"

static void *check(void *block, size_t count, size_t size) {
	if (block == NULL) {
		uint64_t bytes;
		if (__builtin_mul_overflow(count, size, &bytes))
			bytes = UINT64_MAX;
		mw_limit_complain(bytes);
		exit(2);
	}
	return block;
}

void *mw_xcalloc(size_t count, size_t size) {
	/* calloc(0) may return NULL, so this asks for at least one entry. */
	return check(calloc(count > 0 ? count : 1, size), count, size);
}

void *mw_xrealloc(void *block, size_t count, size_t size) {
	return check(reallocarray(block, count > 0 ? count : 1, size), count, size);
}

char *mw_xstrdup(const char *text) {
	return check(strdup(text), strlen(text) + 1, 1);
}

void *mw_grow(void *block, size_t *capacity, size_t wanted, size_t entry_bytes) {
	if (block != NULL && wanted <= *capacity)
		return block;
	/* Most arrays never hold more than 16 entries: one allocation is enough for them. */
	size_t grown = *capacity > 0 ? *capacity : 16;
	while (grown < wanted)
		grown = grown > SIZE_MAX / 2 ? wanted : grown * 2;
	size_t old = block != NULL ? *capacity : 0;
	char *moved = mw_xrealloc(block, grown, entry_bytes);
	memset(moved + old * entry_bytes, 0, (grown - old) * entry_bytes);
	*capacity = grown;
	return moved;
}
