/* SPDX-License-Identifier: MIT
 * memory.h -- memory for the command: it is never NULL, and the memory that reading one file may
 * take is bounded.
 * Layer: model.  When the system refuses memory, the command prints a message and exits with
 * status 2.  A caller checks every size that comes out of a file before it passes the size to
 * these functions.
 *
 * A crafted file of some megabytes can ask for gigabytes.  Between mw_memory_limit_begin() and
 * mw_memory_limit_end() the process gets at most the limit in addition to the memory that it
 * already has. */
#ifndef MW_TOOL_MODEL_MEMORY_H
#define MW_TOOL_MODEL_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Returns `count` zeroed entries of `size` bytes (at least one byte in all).  The caller frees
 * them with free(). */
void *mw_xcalloc(size_t count, size_t size) __attribute__((returns_nonnull));
void *mw_xrealloc(void *block, size_t count, size_t size) __attribute__((returns_nonnull));
char *mw_xstrdup(const char *text) __attribute__((returns_nonnull));

/* Makes room for `wanted` entries in the array `*block`, which has `*capacity` entries.  The
 * capacity doubles; new entries are zero.  Returns the array, which may have moved. */
void *mw_grow(void *block, size_t *capacity, size_t wanted, size_t entry_bytes)
	__attribute__((returns_nonnull));

/* Most entries of one kind (samples, locations, ...) in a profile. */
#define MW_READ_ENTRIES_MAX ((size_t)1 << 25)
/* Most frames of a stack: eight times the depth that any supported profiler records. */
#define MW_READ_DEPTH_MAX ((size_t)1 << 15)

/* Sets the limit for the next mw_memory_limit_begin().  The default is 1 GiB; a profile of a
 * million stacks needs a quarter of the default. */
void mw_limit_set(uint64_t bytes);

/* `name` is the file that is read.  It appears in the message, and stays valid until
 * mw_memory_limit_end().  Calls nest, and only the outermost sets the limit.  The caller starts no
 * program before mw_memory_limit_end(), because a child inherits the limit. */
void mw_memory_limit_begin(const char *name);
void mw_memory_limit_end(void);

#endif
