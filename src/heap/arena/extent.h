/* SPDX-License-Identifier: MIT
 * extent.h -- memory that a program's own functions give to an arena, as jemalloc's extent hooks.
 * Layer: heap.  The functions are the program's: no lock is held while one runs, and what it
 * allocates itself never comes from an arena (mw_extent_in_hook).
 *
 * Extents come and go whole: chunks of 4 MiB aligned to their size, and one for each huge block.
 * Slices of a chunk are cut and joined within it, which asks nobody, because what goes back is what
 * came: split and merge are never called. */
#ifndef MW_HEAP_EXTENT_H
#define MW_HEAP_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* jemalloc's extent_hooks_t.  Those that return bool say true when they refuse; NULL: refused. */
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

/* From and to the kernel.  A program may call them out of its own. */
extern mw_extent_hooks_t mw_extent_default_hooks;

/* This thread runs one of a program's functions. */
extern MW_TLS unsigned mw_extent_in_hook;

typedef struct mw_extent {
	void *base;
	size_t bytes;
} mw_extent_t;

/* Committed memory; *zeroed: it is known to be.  NULL: refused, or not fit to be used. */
void *mw_extent_map(mw_extent_hooks_t *hooks, unsigned arena, size_t bytes, size_t align,
		    bool *zeroed);
/* False: the extent stays the arena's. */
bool mw_extent_unmap(mw_extent_hooks_t *hooks, unsigned arena, const mw_extent_t *extent);
/* What unmap refused, when the arena ends. */
void mw_extent_destroy(mw_extent_hooks_t *hooks, unsigned arena, const mw_extent_t *extent);

/* What became of a part of an extent. */
typedef enum mw_extent_purged {
	MW_EXTENT_KEPT,        /* the hooks refuse */
	MW_EXTENT_LAZY,        /* whatever it holds next */
	MW_EXTENT_ZERO,        /* it reads as zero */
	MW_EXTENT_DECOMMITTED, /* to be committed before its next use */
} mw_extent_purged_t;
mw_extent_purged_t mw_extent_purge(mw_extent_hooks_t *hooks, unsigned arena,
				   const mw_extent_t *extent, size_t offset, size_t length);
bool mw_extent_commit(mw_extent_hooks_t *hooks, unsigned arena, const mw_extent_t *extent,
		      size_t offset, size_t length);

#endif
