/* SPDX-License-Identifier: MIT
 * heap_walk.h -- walks over all chunks and pages of the heap.
 * Layer: heap.  Takes the heap's locks: not called from hooks that run under one. */
#ifndef MW_HEAP_WALK_H
#define MW_HEAP_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/size_class.h"
#include "state/layout.h"

/* Sums over the pages of one size class; see mw_state_class_t. */
typedef struct mw_heap_walk_class {
	uint64_t block_bytes; /* 0: the sums of large blocks */
	uint64_t memory_bytes, touched_bytes, used_bytes;
	uint64_t pages, pages_with_room;
	uint64_t live_blocks; /* blocks of the class; a sampled one may lie in a page of another
				 class */
} mw_heap_walk_class_t;

/* Kinds of free slices.  Dirty: they may hold resident memory.  Muzzy: the same, but the kernel may
 * take it.  Pinned: of an arena whose hooks purge nothing. */
typedef enum mw_free_slices {
	MW_FREE_CLEAN,
	MW_FREE_DIRTY,
	MW_FREE_MUZZY,
	MW_FREE_PINNED,
} mw_free_slices_t;

typedef struct mw_heap_walk_sink {
	/* kind: MW_RANGE_*.  Called under a lock of the heap: must not allocate. */
	void (*range)(uintptr_t start, uintptr_t limit, unsigned kind);
	void (*size_class)(const mw_heap_walk_class_t *size_class);
	/* The map of each chunk.  May be NULL. */
	void (*chunk)(const mw_state_chunk_t *map);
	/* Free slices in a row.  May be NULL. */
	void (*free_slices)(unsigned count, mw_free_slices_t kind);
} mw_heap_walk_sink_t;

/* Walks all pages without stopping any thread, some 0.2 microseconds a chunk, 0.5 with maps: each
 * number was true at some time during the walk. */
void mw_heap_walk(const mw_heap_walk_sink_t *sink);
/* Walks the pages of one arena's chunks (heap/arena/arena.h), without ranges. */
struct mw_arena;
void mw_heap_walk_arena(const struct mw_arena *arena, const mw_heap_walk_sink_t *sink);

/* Sums over pages, read without stopping any thread.  Exact while no thread allocates or frees.
 * Blocks in the tcache lists of threads count as live. */
typedef struct mw_heap_totals {
	size_t live_bytes;
	size_t free_blocks[MW_CLASS_COUNT]; /* also of pages that hold live blocks */
	size_t free_slices;
} mw_heap_totals_t;
MW_COLD void mw_heap_totals(mw_heap_totals_t *totals);
size_t mw_heap_live_bytes(void);

#endif
