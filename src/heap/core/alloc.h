/* SPDX-License-Identifier: MIT
 * alloc.h -- allocation of any size.
 * Layer: heap.  Any thread, at any time, not from signal handlers.  Sizes are bytes.  NULL: no
 * memory; errno is set by the callers in src/api.
 *
 * Door of heap/core: what malloc(), free() and realloc() do.  Reading order: fast.h (the fast
 * paths), alloc, refill (fills an empty list), large (blocks above the small limit), free (slow
 * paths of free), resize, lookup (any pointer to its page), arena_blocks (small blocks of an arena,
 * and the end of all its blocks).  Uses all of heap but heap/harden and heap/stats. */
#ifndef MW_HEAP_ALLOC_H
#define MW_HEAP_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "heap/layout/page.h"

/* Any size; 0 counts as 1.  The block is aligned to 16.  In the hardened library sizes are those of
 * mw_harden_room(), and the program may use mw_harden_requested() of them. */
void *mw_heap_alloc(size_t bytes);
/* A block of any size that is filled with zeros. */
void *mw_heap_alloc_zeroed(size_t bytes);
/* mw_heap_alloc(), called after mw_fast_alloc() returned NULL.  mw_fast_alloc() may have counted
 * the object. */
void *mw_heap_alloc_slow(size_t bytes);
/* mw_heap_alloc_slow() for a block of the class.  `bytes`: the bytes that the program requested, at
 * most what blocks of the class hold. */
MW_NOINLINE void *mw_heap_alloc_class_slow(size_t bytes, unsigned size_class);
/* mw_heap_alloc_zeroed(), called after mw_fast_alloc() returned NULL. */
void *mw_heap_alloc_zeroed_slow(size_t bytes);
/* A block at a multiple of `align`, a power of two.  Also called after mw_fast_alloc_aligned()
 * returned NULL. */
void *mw_heap_alloc_aligned(size_t align, size_t bytes);
/* An aligned block in an arena that the program made (heap/arena/arena.h); NULL: in no arena, even
 * if the thread is bound to one.  Sets *zeroed when the block is known to hold zeros. */
void *mw_heap_alloc_in(mw_arena_t *arena, size_t align, size_t bytes, bool *zeroed);
/* The usable bytes of a block that these functions would return. */
size_t mw_heap_bytes_for(size_t align, size_t bytes);

#endif
