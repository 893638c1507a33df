/* SPDX-License-Identifier: MIT
 * alloc.h -- memory for the command: these functions never return NULL.
 * Layer: model.  When the system refuses memory, the command prints a message and exits with
 * status 2.  A caller checks every size that comes out of a file before it passes the size to
 * these functions. */
#ifndef MW_TOOL_MODEL_ALLOC_H
#define MW_TOOL_MODEL_ALLOC_H

#include <stddef.h>

/* Returns `count` zeroed entries of `size` bytes (at least one byte in all).  The caller frees
 * them with free(). */
void *mw_xcalloc(size_t count, size_t size) __attribute__((returns_nonnull));
void *mw_xrealloc(void *block, size_t count, size_t size) __attribute__((returns_nonnull));
char *mw_xstrdup(const char *text) __attribute__((returns_nonnull));

/* Makes room for `wanted` entries in the array `*block`, which has `*capacity` entries.  The
 * capacity doubles; new entries are zero.  Returns the array, which may have moved. */
void *mw_grow(void *block, size_t *capacity, size_t wanted, size_t entry_bytes)
	__attribute__((returns_nonnull));

#endif
