/* SPDX-License-Identifier: MIT
 * arena.h -- arenas that programs make: memory apart from all other, from functions of their own if
 * they like, that can be given up as a whole.
 * Layer: heap.  They are for placement, not for speed: no thread keeps lists of their blocks.
 * Small blocks live in slabs as samples do (heap/sample/sampled.h), each with a place for a record,
 * so that all of them can be sampled by one countdown of bytes.
 *
 * An arena has a number (>= 1; 0 is all other memory).  It belongs to whoever made it: the program
 * sees to it that nobody uses it, its blocks or its number while it is reset or destroyed.  Locks:
 * MW_RANK_ARENAS for the table, MW_RANK_ARENA for one's chunks; none while a program's function
 * runs.
 *
 * Door of heap/arena.  Reading order: arena.h, extent (the program's functions that give and take
 * memory), arena_memory.c (an arena's slices and chunks). */
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
#include "heap/sample/sampled.h"
#include "os/lock/lock.h"

#define MW_ARENAS_MAX 4095u /* numbers */

/* An extent that the hooks did not take back. */
typedef struct mw_kept_extent {
	mw_extent_t extent; /* of NULL: a place for the next */
	bool in_use;        /* again, by a block that may be smaller */
	struct mw_kept_extent *next;
} mw_kept_extent_t;

struct mw_arena {
	mw_lock_t lock; /* of its chunks, kept extents and purging */
	unsigned number;
	_Atomic(mw_extent_hooks_t *) hooks; /* the program's; relaxed: it says when they change */
	_Atomic int64_t decay_ms; /* how long free slices keep their memory; -1: for ever */
	_Atomic uint32_t threads; /* bound to it */
	uint64_t made_ns;         /* monotonic */
	mw_slabs_t slabs[MW_CLASS_COUNT];
	/* Under the lock. */
	mw_chunk_t *chunks;
	mw_kept_extent_t *kept;
	unsigned purging;              /* threads at it */
	_Atomic uint64_t purge_due_ns; /* UINT64_MAX: nothing to purge */
	/* Relaxed: each is a number of its own. */
	_Atomic uint64_t slices_in_use, dirty_slices, chunk_count, huge_bytes, kept_bytes;
	_Atomic uint64_t purged_slices, purges, purge_calls;
	_Atomic uint64_t large_made, large_freed, large_bytes; /* huge ones included */
};

/* What threads are bound to in the place of none, so that no block of theirs takes a fast path:
 * number 0, whose memory is the heap's own. */
extern mw_arena_t mw_arena_watched;
/* From now on a thread that binds itself to none is bound to that; the calling one is at once.
 * Before threads exist; each has to bind itself when it gets a heap. */
MW_COLD void mw_arena_watch(void);
extern bool mw_arena_watches;

/* NULL: there is none of that number. */
mw_arena_t *mw_arena_of(size_t number);
/* Numbers given so far, 0 included; those of destroyed arenas are given again. */
extern _Atomic unsigned mw_arena_numbers; /* without 0 */
static inline unsigned mw_arena_count(void) {
	return 1 + atomic_load_explicit(&mw_arena_numbers, memory_order_relaxed);
}
/* `hooks` (NULL: the kernel's) stay the program's.  NULL: no memory, or no number. */
mw_arena_t *mw_arena_create(mw_extent_hooks_t *hooks);
/* All its blocks are gone; its memory stays. */
void mw_arena_reset(mw_arena_t *arena);
/* As well its memory.  False: threads are bound to it. */
bool mw_arena_destroy(mw_arena_t *arena);
/* Free memory: what is due, or all.  Bytes. */
size_t mw_arena_purge(mw_arena_t *arena, bool all);
size_t mw_arena_purge_each_slow(bool all);
static inline size_t mw_arena_purge_each(bool all) {
	return mw_arena_count() > 1 ? mw_arena_purge_each_slow(all) : 0;
}
void mw_arena_set_decay(mw_arena_t *arena, int64_t ms);

/* From now on all of the calling thread's blocks come from it; NULL: from where they do otherwise.
 * False: no memory for the thread's heap. */
bool mw_arena_bind(mw_arena_t *arena);
/* The calling thread's, where its next block comes from: not what a program's hook allocates. */
static inline mw_arena_t *mw_arena_in_force(const mw_heap_t *heap) {
	return mw_extent_in_hook || heap->arena == &mw_arena_watched ? NULL : heap->arena;
}

/* As mw_chunk_take() and mw_chunk_give(). */
mw_page_t *mw_arena_take(mw_arena_t *arena, unsigned count, unsigned align_slices);
void mw_arena_give(mw_page_t *page, mw_page_kind_t kind);
/* A block above the small limit was made there, or freed. */
static inline void mw_arena_count_large(mw_arena_t *arena, size_t bytes, bool made) {
	if (made)
		mw_counters_add(&arena->large_made, 1);
	else
		mw_counters_add(&arena->large_freed, 1);
	mw_counters_add(&arena->large_bytes, made ? bytes : -bytes);
}
/* Memory for a huge block. */
void *mw_arena_map(mw_arena_t *arena, size_t bytes, size_t align, bool *zeroed);
void mw_arena_unmap(unsigned number, void *base, size_t bytes);

/* When all its blocks are gone. */
void mw_arena_give_up_memory(mw_arena_t *arena);

/* Each chunk of each arena; a lock is held, and no chunk goes away meanwhile. */
void mw_arena_visit_chunks_slow(void (*visit)(const mw_chunk_t *chunk, void *context),
				void *context);
static inline void mw_arena_visit_chunks(void (*visit)(const mw_chunk_t *chunk, void *context),
					 void *context) {
	if (mw_arena_count() > 1)
		mw_arena_visit_chunks_slow(visit, context);
}
/* Of all arenas. */
typedef struct mw_arena_totals {
	uint64_t mapped_bytes, in_use_bytes, dirty_bytes, purged_bytes;
} mw_arena_totals_t;
mw_arena_totals_t mw_arena_totals_slow(void);
static inline mw_arena_totals_t mw_arena_totals(void) {
	return mw_arena_count() > 1 ? mw_arena_totals_slow() : (mw_arena_totals_t){0};
}
/* Slices in use of all arenas; no lock.  Here, as what is asked before there is an arena: most
 * processes have none, and need not touch the code. */
extern _Atomic size_t mw_arena_slices_in_use;
static inline size_t mw_arena_in_use_bytes(void) {
	return atomic_load_explicit(&mw_arena_slices_in_use, memory_order_relaxed) * MW_SLICE_BYTES;
}

void mw_arena_fork_prepare(void);
void mw_arena_fork_release(bool in_child);

#endif
