/* SPDX-License-Identifier: MIT
 * alloc.h -- memory for the tool: never NULL.
 * Layer: tools/model.  When the system refuses, the process says so and exits with status 2: there
 * is nothing sensible a command of one shot could still do.  Sizes that come out of a file must be
 * bounded before they get here. */
#ifndef MW_TOOL_MODEL_ALLOC_H
#define MW_TOOL_MODEL_ALLOC_H

#include <stddef.h>

/* `count` zeroed entries of `size` bytes (at least one byte); the caller frees with free(). */
void *mw_xcalloc(size_t count, size_t size) __attribute__((returns_nonnull));
void *mw_xrealloc(void *block, size_t count, size_t size) __attribute__((returns_nonnull));
char *mw_xstrdup(const char *text) __attribute__((returns_nonnull));

/* Room for `wanted` entries in the array `*block` of `*capacity` entries: grows by doubling, new
 * entries are zero. */
void *mw_grow(void *block, size_t *capacity, size_t wanted, size_t entry_bytes)
	__attribute__((returns_nonnull));

#endif
