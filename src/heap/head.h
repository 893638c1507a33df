/* SPDX-License-Identifier: MIT
 * head.h -- how long free() may make a thread's list heads.
 * Layer: heap.  Owner thread only.
 *
 * Tiny blocks always go to their pages: their limits, which a program may set and read, act on
 * nothing.  Above tiny, a head is a stack of the blocks freed last, which are in the processor's
 * cache.  What waits there is missing elsewhere, so its limit starts low and doubles only when a
 * list overflowed and then ran empty: that is when a longer one had saved both. */
#ifndef MW_HEAP_HEAD_H
#define MW_HEAP_HEAD_H

#include "heap/heap.h"

/* At first, and at most: blocks and bytes of one class, whichever is less; a block at least. */
#define MW_HEAD_FIRST_BLOCKS 8u
#define MW_HEAD_FIRST_BYTES (32u << 10)
#define MW_HEAD_MAX_BLOCKS 64u
#define MW_HEAD_MAX_BYTES (1u << 20)
/* All classes of a thread together, above what they start with: at most so much, and this part of
 * the most pages its heap ever had. */
#define MW_HEAD_GROWTH_BYTES ((size_t)4 << 20)
#define MW_HEAD_GROWTH_PART 8u

/* As the options have it, for each new thread: jemalloc's of its thread caches. */
typedef struct mw_head_config {
	bool off;
	size_t max_bytes;                   /* larger classes have none */
	uint32_t first_blocks, most_blocks; /* up to MW_HEAD_LIMIT */
} mw_head_config_t;
#define MW_HEAD_LIMIT 255u              /* head_limit[] are bytes */
extern mw_head_config_t mw_head_config; /* set before threads exist */

/* A refill: so many blocks are on the list now.  Nothing for tiny classes. */
MW_ALWAYS_INLINE void mw_head_filled(const mw_heap_t *heap, unsigned size_class, uint32_t count) {
	if (size_class >= MW_TINY_CLASSES)
		mw_stack_of(size_class)->left = heap->head_limit[size_class] + 1 - (int32_t)count;
}

/* Above tiny: blocks on the list. */
MW_ALWAYS_INLINE uint32_t mw_head_length(const mw_heap_t *heap, unsigned size_class) {
	return (uint32_t)(heap->head_limit[size_class] + 1 - mw_stack_of(size_class)->left);
}

/* Blocks that free() may put onto each list, anew, all of which are empty; none while the thread is
 * bound to an arena. */
void mw_head_start(mw_heap_t *heap);
/* Of a new thread. */
static inline void mw_head_configure(mw_heap_t *heap) {
	heap->heads_off = mw_head_config.off;
	heap->head_max_bytes = mw_head_config.max_bytes;
	mw_head_start(heap);
}
/* The program says how many for all classes of `least` to `most` bytes: they stay as they are.  The
 * lists are empty. */
MW_COLD void mw_head_set_limit(mw_heap_t *heap, size_t least_bytes, size_t most_bytes,
			       size_t blocks);

static inline bool mw_head_may_grow(const mw_heap_t *heap, size_t more_bytes) {
	size_t grown_bytes = heap->head_grown_bytes + more_bytes;
	return grown_bytes <= MW_HEAD_GROWTH_BYTES &&
	       grown_bytes <= heap->pages_most * MW_SLICE_BYTES / MW_HEAD_GROWTH_PART;
}

/* At a refill. */
static inline void mw_head_ran_empty(mw_heap_t *heap, unsigned size_class) {
	uint64_t bit = (uint64_t)1 << size_class;
	if (MW_LIKELY(!(heap->overflowed & bit)))
		return;
	heap->overflowed &= ~bit;
	uint32_t limit = heap->head_limit[size_class];
	size_t more_bytes = (size_t)limit * mw_class_bytes[size_class];
	if (size_class < MW_TINY_CLASSES || limit * 2 > mw_head_config.most_blocks ||
	    more_bytes * 2 > MW_HEAD_MAX_BYTES || !mw_head_may_grow(heap, more_bytes))
		return;
	heap->head_limit[size_class] = (uint8_t)(limit * 2);
	mw_stack_of(size_class)->left += (int32_t)limit;
	heap->head_grown_bytes += more_bytes;
}

#endif
