/* SPDX-License-Identifier: MIT
 * inherited.h -- tcache lists of tiny classes that a thread leaves to the next thread of its
 * heap.
 * Layer: heap.  Owner thread only.
 *
 * A tcache list is only popped, and no pop is counted: how many blocks are left in it is known
 * only by a walk, which costs a cache miss for each block.  So an ending thread hands its lists on
 * uncounted.  The next thread takes some blocks of such a list at a time, and counts these; when it
 * ends, what is left of its own list goes before the rest.  To the sampler both are one list: the
 * countdown begins behind the last block.  Meanwhile the heap's own countdown of the class is 0, as
 * if it was not drawn, so that the common refill takes the longer path, which looks here. */
#ifndef MW_HEAP_INHERITED_H
#define MW_HEAP_INHERITED_H

#include <stdint.h>

#include "heap/local/heap.h"

/* Most blocks that are taken at a time. */
#define MW_INHERITED_BLOCKS 32u

/* The thread ends: its tcache lists of tiny classes become the heap's inherited ones. */
void mw_inherited_leave(mw_heap_t *heap);
/* The heap's countdowns are to be drawn anew: those that wait here, too. */
static inline void mw_inherited_forget_draws(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++)
		heap->inherited[c].until_sample = 0;
}
/* Takes up to MW_INHERITED_BLOCKS blocks of the class, which the caller makes the tcache list.
 * The class has some. */
void *mw_inherited_take(mw_heap_t *heap, unsigned size_class);
/* Takes all blocks of the class, for their pages.  Returns their list, and how many; NULL and 0:
 * the class has none.  Ends the program when the list has no end. */
void *mw_inherited_take_all(mw_heap_t *heap, unsigned size_class, uint32_t *count);

#endif
