/* SPDX-License-Identifier: MIT
 * stats.h -- the heap's statistics, in the order of state/stats.def.
 * Layer: heap.  Takes the heap's locks: not from hooks that run under one.
 *
 * Door of heap/stats.  Reading order: stats.h, counters.h (rare events of all threads), counts
 * (bytes that threads allocated and freed), heap_walk (what the heap's pages hold). */
#ifndef MW_HEAP_STATS_H
#define MW_HEAP_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "os/lock/lock.h"
#include "state/stats.h"

/* Of the list of threads' heaps; for its statistics. */
mw_lock_t *mw_heap_threads_lock(void);

void mw_heap_stats(uint64_t stats[MW_STAT_COUNT]);

/* The pages of one size class added up; see mw_state_class_t. */
typedef struct mw_heap_walk_class {
	uint64_t block_bytes; /* 0: large blocks */
	uint64_t memory_bytes, touched_bytes, used_bytes;
	uint64_t pages, pages_with_room;
	uint64_t live_blocks; /* of the class, whichever class's page a sampled one shares */
} mw_heap_walk_class_t;

/* Dirty ones may hold pages of memory; muzzy ones, too, but the kernel may take them; pinned ones
 * are an arena's whose hooks purge nothing. */
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
	/* Free slices in a row.  May be NULL. */
	void (*free_slices)(unsigned count, mw_free_slices_t kind);
} mw_heap_walk_sink_t;

/* Walks all pages without stopping anybody, some 0.3 microseconds a chunk: each number is one that
 * was true while it went on. */
void mw_heap_walk(const mw_heap_walk_sink_t *sink);
/* The same of one arena's chunks (heap/arena/arena.h), and no ranges. */
struct mw_arena;
void mw_heap_walk_arena(const struct mw_arena *arena, const mw_heap_walk_sink_t *sink);

#endif
