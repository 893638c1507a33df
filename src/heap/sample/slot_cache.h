/* SPDX-License-Identifier: MIT
 * slot_cache.h -- slots of sampled-slot pages that a thread keeps for its next samples.
 * Layer: heap.  Owner thread only.  A slot that a thread frees goes into the thread's cache,
 * whichever thread filled it: no lock is taken, and the memory was just used.  The page counts a
 * cached slot as used; the slot's mark says that it is free. */
#ifndef MW_HEAP_SLOT_CACHE_H
#define MW_HEAP_SLOT_CACHE_H

#include "heap/layout/page.h"
#include "heap/layout/record.h"
#include "heap/layout/size_class.h"
#include "heap/sample/sampled.h"

/* Slots of one class; the slot freed last stands last. */
typedef struct mw_slot_cache {
	uint32_t count;
	uint32_t limit; /* 0: not known yet */
	mw_slot_t slots[MW_SLOT_CACHE_SLOTS];
	uint64_t unused; /* makes the struct two cache lines */
} mw_slot_cache_t;

/* All caches of a thread.  Caches of pages that several classes share come first: in most threads
 * the rest of the struct is never touched. */
typedef struct mw_slot_caches {
	uint64_t used;                  /* bit c: the cache of slab class c has held slots */
	uint8_t shared[MW_CLASS_COUNT]; /* of a block's class: cache of the shared slabs */
	uint8_t own[MW_CLASS_COUNT];    /* of a slab's class: its cache */
	_Alignas(MW_CACHE_LINE_BYTES) mw_slot_cache_t of[MW_CLASS_COUNT];
} mw_slot_caches_t;

/* Takes a slot for a block of the class, from the thread's cache if it has one: see
 * mw_sampled_take(). */
void *mw_slot_cache_take(mw_heap_t *heap, unsigned size_class, uint32_t **mark);
/* Frees a sampled block into the thread's cache, or into its page where the thread has no heap.
 * Ends the program on a double free or a pointer that is not a block's start.  Returns the block's
 * record (0: none) and in *usable_bytes the block's size.  `arena`: the page's. */
mw_record_id_t mw_slot_cache_give(mw_arena_t *arena, mw_page_t *page, void *block,
				  uint32_t *usable_bytes);
/* Byte that sampled blocks, blocks of arenas and large blocks are filled with when they are freed;
 * -1: they are not filled.  Set before threads exist.  The hardened library fills in another way.
 */
extern int mw_heap_fill_freed;
/* Returns all cached slots to their pages. */
void mw_slot_cache_unload(mw_heap_t *heap);

#endif
