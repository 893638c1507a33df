/* SPDX-License-Identifier: MIT
 * arena_blocks.h -- small blocks of an arena, and the end of all blocks of an arena.
 * Layer: heap.
 *
 * mw_arena_lists_t holds free blocks of an arena that one thread keeps: its fast path to that
 * arena. One list for each tiny class.  Blocks in the lists count as live for the arena, and none
 * of them is a sample: each list has a countdown of its own, and a block that enters the list is
 * counted as the allocation that it will be.  The plain library only: the hardened library checks
 * each block that leaves an arena. */
#ifndef MW_HEAP_ARENA_BLOCKS_H
#define MW_HEAP_ARENA_BLOCKS_H

#include "base/compiler.h"
#include "heap/arena/arena.h"
#include "heap/layout/link.h"
#include "heap/layout/size_class.h"

typedef struct mw_arena_lists {
	mw_list_t lists[MW_TINY_CLASSES]; /* room: blocks that free() may add */
	/* Objects until and including the next sample, counted from the end of the list; 0: not
	 * drawn yet.  UINT64_MAX: never. */
	uint64_t until_sample[MW_TINY_CLASSES];
	uint32_t draw_generation; /* number of these draws (mw_draw_generation()) */
	uintptr_t owner; /* thread pointer of the thread that may use the lists; else no thread's */
	mw_arena_t *arena;
} mw_arena_lists_t;

MW_ALWAYS_INLINE bool mw_arena_lists_are_own(const mw_arena_lists_t *lists) {
	return lists->owner == (uintptr_t)__builtin_thread_pointer();
}

/* Returns a block from the list of the size; the owner calls.  NULL: the list is empty, or the size
 * has none. */
MW_ALWAYS_INLINE void *mw_arena_lists_pop(mw_arena_lists_t *lists, size_t bytes) {
	if (MW_UNLIKELY(bytes > MW_TINY_MAX_BYTES))
		return NULL;
	mw_list_t *list = &lists->lists[mw_class_of_tiny[bytes]];
	void *block = list->first;
	if (MW_LIKELY(block != NULL)) {
		list->first = mw_link_get(block);
		list->room++;
	}
	return block;
}

/* The calling thread keeps blocks of the arena from now on. */
void mw_arena_lists_start(mw_arena_lists_t *lists, mw_arena_t *arena);
/* Returns a block of a size whose list is empty, after it filled the list from the arena's free
 * blocks.  The owner calls.  NULL: no memory, or the size has no list. */
void *mw_arena_lists_alloc(mw_arena_lists_t *lists, size_t bytes);
/* Frees the blocks of all lists.  No other thread uses the lists meanwhile. */
void mw_arena_lists_flush(mw_arena_lists_t *lists);
/* Empties the lists without freeing their blocks, which end with the arena. */
void mw_arena_lists_drop(mw_arena_lists_t *lists);
/* Puts a block that is freed into its list.  False: it has none, or the list is full; nothing was
 * done. */
bool mw_arena_lists_give(mw_page_t *page, void *block);

/* Allocates a block of the class in a sampled-slot page of the arena, and counts it down by its
 * bytes (heap/arena/arena.h).  `arena`: NULL for a block that belongs to no arena.  NULL: no
 * memory. */
void *mw_arena_block_alloc(mw_heap_t *heap, mw_arena_t *arena, size_t bytes, unsigned size_class);

/* The program ensures that no thread uses the arena or its blocks during the following calls. */
/* Frees all blocks of the arena; the arena keeps its memory. */
void mw_arena_reset(mw_arena_t *arena);
/* Frees all blocks of the arena and gives up its memory and its number.  False: threads are bound
 * to the arena, and nothing was done. */
bool mw_arena_destroy(mw_arena_t *arena);
/* Returns whether no block is live, and no thread is just freeing one.  During the call, threads
 * may free blocks, but may not allocate from the arena. */
bool mw_arena_is_empty(mw_arena_t *arena);

#endif
