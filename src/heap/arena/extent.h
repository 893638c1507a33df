/* SPDX-License-Identifier: MIT
 * extent.h -- memory that functions of the program give to an arena, as jemalloc's extent hooks.
 * Layer: heap.  No lock is held while a function of the program runs.  Blocks that such a function
 * allocates never come from an arena (mw_extent_in_hook).
 *
 * Extents come and go whole: chunks of 4 MiB aligned to their size, and one for each huge block.
 * Slices are cut and joined within a chunk, without a call of a hook: split and merge are never
 * called. */
#ifndef MW_HEAP_EXTENT_H
#define MW_HEAP_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* jemalloc's extent_hooks_t.  A function that returns bool returns true when it refuses; NULL
 * refuses. */
typedef struct mw_extent_hooks mw_extent_hooks_t;
struct mw_extent_hooks {
	void *(*alloc)(mw_extent_hooks_t *hooks, void *wanted, size_t bytes, size_t align,
		       bool *zeroed, bool *committed, unsigned arena);
	bool (*dalloc)(mw_extent_hooks_t *hooks, void *base, size_t bytes, bool committed,
		       unsigned arena);
	void (*destroy)(mw_extent_hooks_t *hooks, void *base, size_t bytes, bool committed,
			unsigned arena);
	bool (*commit)(mw_extent_hooks_t *hooks, void *base, size_t bytes, size_t offset,
		       size_t length, unsigned arena);
	bool (*decommit)(mw_extent_hooks_t *hooks, void *base, size_t bytes, size_t offset,
			 size_t length, unsigned arena);
	bool (*purge_lazy)(mw_extent_hooks_t *hooks, void *base, size_t bytes, size_t offset,
			   size_t length, unsigned arena);
	bool (*purge_forced)(mw_extent_hooks_t *hooks, void *base, size_t bytes, size_t offset,
			     size_t length, unsigned arena);
	bool (*split)(mw_extent_hooks_t *hooks, void *base, size_t bytes, size_t first_bytes,
		      size_t second_bytes, bool committed, unsigned arena);
	bool (*merge)(mw_extent_hooks_t *hooks, void *first, size_t first_bytes, void *second,
		      size_t second_bytes, bool committed, unsigned arena);
};

/* Hooks that take memory from the kernel and give it back.  A program's own hooks may call them. */
extern mw_extent_hooks_t mw_extent_default_hooks;

/* Not 0 while this thread runs a hook. */
extern MW_TLS unsigned mw_extent_in_hook;

typedef struct mw_extent {
	void *base;
	size_t bytes;
} mw_extent_t;

/* Maps committed memory; *zeroed: it is known to be zero.  NULL: the hooks refused, or what they
 * gave cannot be used. */
void *mw_extent_map(mw_extent_hooks_t *hooks, unsigned arena, size_t bytes, size_t align,
		    bool *zeroed);
/* Unmaps an extent.  False: the hooks refused, and the arena keeps it. */
bool mw_extent_unmap(mw_extent_hooks_t *hooks, unsigned arena, const mw_extent_t *extent);
/* Destroys an extent that unmap refused, at the arena's end. */
void mw_extent_destroy(mw_extent_hooks_t *hooks, unsigned arena, const mw_extent_t *extent);

/* Result of a purge of a part of an extent. */
typedef enum mw_extent_purged {
	MW_EXTENT_KEPT,        /* the hooks refused */
	MW_EXTENT_LAZY,        /* its contents are undefined */
	MW_EXTENT_ZERO,        /* it reads as zero */
	MW_EXTENT_DECOMMITTED, /* it must be committed before its next use */
} mw_extent_purged_t;
mw_extent_purged_t mw_extent_purge(mw_extent_hooks_t *hooks, unsigned arena,
				   const mw_extent_t *extent, size_t offset, size_t length);
bool mw_extent_commit(mw_extent_hooks_t *hooks, unsigned arena, const mw_extent_t *extent,
		      size_t offset, size_t length);

#endif
