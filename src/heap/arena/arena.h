/* SPDX-License-Identifier: MIT
 * arena.h -- arenas that programs make: memory that is separate from all other memory, may come
 * from functions of the program, and can be given up as a whole.
 * Layer: heap.  Arenas are for placement, not for speed: threads keep no lists of their blocks,
 * unless a program asks for it (heap/core/arena_blocks.h).  Small blocks lie in sampled-slot pages
 * (heap/sample/sampled.h), each with a place for a record, so that one countdown of bytes can
 * sample all of them.
 *
 * An arena has a number (>= 1; 0 is all other memory).  The program that created the arena ensures
 * that no thread uses the arena, its blocks or its number while the arena is reset or destroyed.
 * Locks: MW_RANK_ARENAS for the table, MW_RANK_ARENA for one arena's chunks; none is held while a
 * function of the program runs.
 *
 * Door of heap/arena: the table of arenas and their memory.  Reading order: arena, extent (the
 * program's functions that give and take memory), arena_memory.c (an arena's slices and chunks).
 * heap/thread/binding.h binds threads to arenas, heap/core/arena_blocks.h ends all blocks of one.
 * Uses heap/memory. */
#ifndef MW_HEAP_ARENA_H
#define MW_HEAP_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/arena/extent.h"
#include "heap/layout/counters.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/layout/slabs.h"
#include "heap/memory/chunk.h"
#include "os/lock/lock.h"

#define MW_ARENAS_MAX 4095u /* the numbers, 0 included */

/* An extent that the hooks refused to take back. */
typedef struct mw_kept_extent {
	mw_extent_t extent; /* base NULL: a free entry */
	bool in_use;        /* in use again, by a block that may be smaller */
	struct mw_kept_extent *next;
} mw_kept_extent_t;

struct mw_arena {
	mw_lock_t lock; /* for its chunks, kept extents and purging */
	unsigned number;
	_Atomic(mw_extent_hooks_t *)
		hooks; /* functions of the program; relaxed: the program orders changes */
	_Atomic int64_t decay_ms;     /* how long free slices keep their memory; -1: forever */
	_Atomic uint32_t threads;     /* threads bound to the arena */
	uint64_t made_ns;             /* monotonic */
	struct mw_arena_lists *lists; /* of one thread; NULL: none */
	mw_slabs_t slabs[MW_CLASS_COUNT];
	/* Under the lock. */
	mw_chunk_t *chunks;
	mw_kept_extent_t *kept;
	unsigned purging;              /* threads that are purging it */
	_Atomic uint64_t purge_due_ns; /* UINT64_MAX: no slice is to be purged */
	/* Relaxed: the counters order no other memory accesses. */
	_Atomic uint64_t slices_in_use, dirty_slices, chunk_count, huge_bytes, kept_bytes;
	_Atomic uint64_t purged_slices, purges, purge_calls;
	_Atomic uint64_t large_made, large_freed, large_bytes; /* counts of large and huge blocks */
};

/* Returns the arena of this number; NULL: there is none. */
mw_arena_t *mw_arena_of(size_t number);
/* Numbers given so far.  mw_arena_numbers leaves 0 out.  Numbers of destroyed arenas are given
 * again. */
/* Forks under way: no arena begins to be purged. */
extern _Atomic unsigned mw_arena_forks;
extern _Atomic unsigned mw_arena_numbers;
static inline unsigned mw_arena_count(void) {
	return 1 + atomic_load_explicit(&mw_arena_numbers, memory_order_relaxed);
}
/* Makes an arena.  `hooks` (NULL: those of the kernel) stay the program's.  NULL: no memory, or no
 * number is left. */
mw_arena_t *mw_arena_create(mw_extent_hooks_t *hooks);
/* Gives up the memory and the number of an arena that has no block and no thread. */
void mw_arena_remove(mw_arena_t *arena);
/* Purges free memory that is due, or all free memory.  Returns the bytes given back. */
size_t mw_arena_purge(mw_arena_t *arena, bool all);
size_t mw_arena_purge_each_slow(bool all);
static inline size_t mw_arena_purge_each(bool all) {
	return mw_arena_count() > 1 ? mw_arena_purge_each_slow(all) : 0;
}
void mw_arena_set_decay(mw_arena_t *arena, int64_t ms);

/* Take and give slices of an arena's chunks: the contracts of mw_chunk_take() and mw_chunk_give().
 */
mw_page_t *mw_arena_take(mw_arena_t *arena, unsigned count, unsigned align_slices);
void mw_arena_give(mw_page_t *page, mw_page_kind_t kind);
/* The page's slices become free, whether its chunk is an arena's or the heap's own. */
static inline void mw_arena_or_chunk_give(mw_page_t *page, mw_page_kind_t kind) {
	if (MW_UNLIKELY(mw_chunk_of(page)->arena != NULL))
		mw_arena_give(page, kind);
	else
		mw_chunk_give(page, kind);
}
/* Counts a block above the small limit that was allocated in the arena, or freed. */
static inline void mw_arena_count_large(mw_arena_t *arena, size_t bytes, bool made) {
	if (made)
		mw_counters_add(&arena->large_made, 1);
	else
		mw_counters_add(&arena->large_freed, 1);
	mw_counters_add(&arena->large_bytes, made ? bytes : -bytes);
}
/* Maps and unmaps the memory of a huge block. */
void *mw_arena_map(mw_arena_t *arena, size_t bytes, size_t align, bool *zeroed);
void mw_arena_unmap(unsigned number, void *base, size_t bytes);

/* Gives up the memory of an arena without a block. */
void mw_arena_give_up_memory(mw_arena_t *arena);

/* Visits each chunk of each arena.  A lock is held: no chunk goes away meanwhile. */
void mw_arena_visit_chunks_slow(void (*visit)(const mw_chunk_t *chunk, void *context),
				void *context);
static inline void mw_arena_visit_chunks(void (*visit)(const mw_chunk_t *chunk, void *context),
					 void *context) {
	if (mw_arena_count() > 1)
		mw_arena_visit_chunks_slow(visit, context);
}
/* Sums over all arenas. */
typedef struct mw_arena_totals {
	uint64_t mapped_bytes, in_use_bytes, dirty_bytes, purged_bytes;
} mw_arena_totals_t;
mw_arena_totals_t mw_arena_totals_slow(void);
static inline mw_arena_totals_t mw_arena_totals(void) {
	return mw_arena_count() > 1 ? mw_arena_totals_slow() : (mw_arena_totals_t){0};
}
/* Slices in use of all arenas; no lock.  A variable, because most processes have no arena and need
 * not touch the code. */
extern _Atomic size_t mw_arena_slices_in_use;
static inline size_t mw_arena_in_use_bytes(void) {
	return atomic_load_explicit(&mw_arena_slices_in_use, memory_order_relaxed) * MW_SLICE_BYTES;
}

/* Called before fork() takes the heap's first lock: waits until no arena is being purged, at most a
 * second.  Functions of the program that purge may need any lock of the heap.  Slices that are
 * still being purged at the fork are lost to the child. */
void mw_arena_fork_begin(void);
void mw_arena_fork_prepare(void);
void mw_arena_fork_release(bool in_child);

#endif
