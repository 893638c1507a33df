/* SPDX-License-Identifier: MIT
 * binding.h -- a thread that is bound to an arena takes all of its blocks from there.
 * Layer: heap.  Owner thread only. */
#ifndef MW_HEAP_THREAD_BINDING_H
#define MW_HEAP_THREAD_BINDING_H

#include "heap/arena/arena.h"
#include "heap/arena/extent.h"
#include "heap/layout/page.h"
#include "heap/local/heap.h"

/* Stands for "no arena", so that no block of the thread takes a fast path: number 0, whose memory
 * is the heap's own. */
extern mw_arena_t mw_arena_watched;
/* From now on a thread that binds itself to no arena is bound to mw_arena_watched; the calling
 * thread is at once.  Called before threads exist; each thread binds itself when it gets a heap. */
MW_COLD void mw_arena_watch(void);
extern bool mw_arena_watches;

/* From now on all blocks of the calling thread come from the arena; NULL: from the heap's own
 * memory.  False: no memory for the thread's heap. */
bool mw_arena_bind(mw_arena_t *arena);
/* The arena of the calling thread's next block; NULL: none.  A block that a program's extent hook
 * allocates comes from no arena. */
static inline mw_arena_t *mw_arena_in_force(const mw_heap_t *heap) {
	return mw_extent_in_hook || heap->arena == &mw_arena_watched ? NULL : heap->arena;
}

#endif
