/* SPDX-License-Identifier: MIT
 * magazine.h -- what a thread keeps of the mini-slabs' places.
 * Layer: heap.  What a thread frees of sampled blocks it takes again for its next samples, whoever
 * had made them: without the slabs' lock, and from memory that it has just used.  For the slab such
 * places are in use; their marks say that they are free.  The owner thread's. */
#ifndef MW_HEAP_MAGAZINE_H
#define MW_HEAP_MAGAZINE_H

#include "heap/heap.h"
#include "heap/sampled.h"

/* Of one class of slabs, the one freed last at the end. */
typedef struct mw_magazine {
	uint32_t count;
	uint32_t limit; /* 0: not known yet */
	mw_place_t places[MW_MAGAZINE_PLACES];
	uint64_t unused; /* two cache lines */
} mw_magazine_t;

/* The magazines of the slabs that classes share come first: where no others are needed, the rest of
 * it is never touched. */
typedef struct mw_magazines {
	uint64_t used;                  /* bit c: the magazine of slab class c has held places */
	uint8_t shared[MW_CLASS_COUNT]; /* of a block's class: magazine of the shared slabs */
	uint8_t own[MW_CLASS_COUNT];    /* of a slab's class: its magazine */
	_Alignas(MW_CACHE_LINE_BYTES) mw_magazine_t of[MW_CLASS_COUNT];
} mw_magazines_t;

/* As mw_sampled_take(), for the heap's thread and none of the arenas. */
void *mw_magazine_take(mw_heap_t *heap, unsigned size_class, uint32_t **mark);
/* Ends the program on a double free or a pointer that is not a block's start.  Returns the record
 * (0: none); the block may be handed out again at once.  *usable_bytes: what it had.  `arena`: the
 * page's. */
mw_record_id_t mw_magazine_give(mw_arena_t *arena, mw_page_t *page, void *block,
				uint32_t *usable_bytes);
/* What sampled blocks, those of arenas and large ones are filled with when they are freed; -1:
 * nothing.  Set before threads exist.  The hardened library has a filling of its own. */
extern int mw_heap_fill_freed;
/* All goes to the slabs. */
void mw_magazine_unload(mw_heap_t *heap);

#endif
