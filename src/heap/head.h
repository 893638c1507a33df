/* SPDX-License-Identifier: MIT
 * head.h -- how long free() may make a thread's list heads.
 * Layer: heap.  Owner thread only.
 *
 * Tiny blocks are pushed onto a head only when their page is full (free.c), a fixed number of them
 * between two refills.  Above tiny, a head is a stack of the blocks freed last, which are in the
 * processor's cache.  What waits there is missing elsewhere, so its limit starts low and doubles
 * only when a list overflowed and then ran empty: that is when a longer one had saved both. */
#ifndef MW_HEAP_HEAD_H
#define MW_HEAP_HEAD_H

#include "heap/heap.h"

#define MW_HEAD_TINY_BLOCKS 16u
/* At first, and at most: blocks and bytes of one class, whichever is less; a block at least. */
#define MW_HEAD_FIRST_BLOCKS 8u
#define MW_HEAD_FIRST_BYTES (32u << 10)
#define MW_HEAD_MAX_BLOCKS 64u
#define MW_HEAD_MAX_BYTES (1u << 20)
/* All classes of a thread together, above what they start with. */
#define MW_HEAD_GROWTH_BYTES ((size_t)4 << 20)

static inline void mw_head_start(mw_heap_t *heap) {
	heap->overflowed = 0;
	heap->head_grown_bytes = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		uint32_t blocks = MW_HEAD_FIRST_BYTES / mw_class_bytes[c];
		if (blocks > MW_HEAD_FIRST_BLOCKS)
			blocks = MW_HEAD_FIRST_BLOCKS;
		if (blocks == 0)
			blocks = 1;
		heap->head_limit[c] = (uint8_t)(c < MW_TINY_CLASSES ? MW_HEAD_TINY_BLOCKS : blocks);
	}
}

/* At a refill. */
static inline void mw_head_ran_empty(mw_heap_t *heap, unsigned size_class) {
	uint64_t bit = (uint64_t)1 << size_class;
	if (MW_LIKELY(!(heap->overflowed & bit)))
		return;
	heap->overflowed &= ~bit;
	uint32_t limit = heap->head_limit[size_class];
	size_t more_bytes = (size_t)limit * mw_class_bytes[size_class];
	if (size_class < MW_TINY_CLASSES || limit * 2 > MW_HEAD_MAX_BLOCKS ||
	    more_bytes * 2 > MW_HEAD_MAX_BYTES ||
	    heap->head_grown_bytes + more_bytes > MW_HEAD_GROWTH_BYTES)
		return;
	heap->head_limit[size_class] = (uint8_t)(limit * 2);
	heap->head_grown_bytes += more_bytes;
}

#endif
