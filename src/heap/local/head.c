/* SPDX-License-Identifier: MIT
 * head.c -- limits of allocation lists: those that lists start with, and those that a program sets.
 */
#include "heap/local/head.h"

#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/local/batch.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"

mw_head_config_t mw_head_config = {
	.max_bytes = MW_SMALL_MAX_BYTES,
	.first_blocks = MW_HEAD_FIRST_BLOCKS,
	.most_blocks = MW_HEAD_MAX_BLOCKS,
};

void **mw_head_of(unsigned size_class) {
	return size_class < MW_TINY_CLASSES ? &mw_thread.heads[size_class]
					    : &mw_stack_of(size_class)->first;
}

static uint32_t first_limit(const mw_heap_t *heap, unsigned size_class) {
	uint32_t most = mw_head_config.first_blocks;
	bool tiny = size_class < MW_TINY_CLASSES;
	if (heap->arena || heap->heads_off || mw_class_bytes[size_class] > heap->head_max_bytes ||
	    (tiny && (MW_HARDEN_ON || mw_class_bytes[size_class] < MW_REMOTE_BIN_LEAST_BYTES)))
		return 0;
	uint32_t blocks = MW_HEAD_FIRST_BYTES / mw_class_bytes[size_class];
	return blocks > most ? most : blocks == 0 ? 1 : blocks;
}

static MW_NOINLINE void set_limit(mw_heap_t *heap, unsigned size_class, uint32_t blocks) {
	heap->head_limit[size_class] = (uint8_t)blocks;
	if (size_class < MW_TINY_CLASSES)
		mw_remote_bin_start(heap, size_class);
	else
		mw_head_filled(heap, size_class, 0);
}

void mw_head_start(mw_heap_t *heap) {
	heap->overflowed = 0;
	heap->head_grown_bytes = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		set_limit(heap, c, first_limit(heap, c));
}

void mw_head_set_limit(mw_heap_t *heap, size_t least_bytes, size_t most_bytes, size_t blocks) {
	if (heap->arena)
		return;
	heap->head_grown_bytes = MW_HEAD_GROWTH_BYTES;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		if (mw_class_bytes[c] >= least_bytes && mw_class_bytes[c] <= most_bytes &&
		    !(MW_HARDEN_ON && c < MW_TINY_CLASSES))
			set_limit(heap, c,
				  blocks < MW_HEAD_LIMIT ? (uint32_t)blocks : MW_HEAD_LIMIT);
}

static bool may_grow(const mw_heap_t *heap, size_t more_bytes) {
	size_t grown_bytes = heap->head_grown_bytes + more_bytes;
	return grown_bytes <= MW_HEAD_GROWTH_BYTES &&
	       grown_bytes <= heap->pages_most * MW_SLICE_BYTES / MW_HEAD_GROWTH_PART;
}

void mw_head_grow(mw_heap_t *heap, unsigned size_class) {
	heap->overflowed &= ~((uint64_t)1 << size_class);
	uint32_t limit = heap->head_limit[size_class];
	size_t more_bytes = (size_t)limit * mw_class_bytes[size_class];
	if (limit * 2 > mw_head_config.most_blocks || more_bytes * 2 > MW_HEAD_MAX_BYTES ||
	    !may_grow(heap, more_bytes))
		return;
	heap->head_limit[size_class] = (uint8_t)(limit * 2);
	if (size_class < MW_TINY_CLASSES)
		mw_remote_bin(heap, size_class)->left += (int32_t)limit;
	else
		mw_stack_of(size_class)->left += (int32_t)limit;
	heap->head_grown_bytes += more_bytes;
}

/* Most blocks of a list: a page of the smallest blocks, and those that free() may add (head.h). */
#define HEAD_MAX_BLOCKS (MW_SLICE_BYTES / MW_BLOCK_ALIGN + UINT8_MAX)

uint32_t mw_head_count_list(const void *list) {
	uint32_t count = 0;
	/* Bounded: a block freed twice can make a list cyclic. */
	for (const void *block = list; block; block = mw_link_get(block))
		if (++count > HEAD_MAX_BLOCKS)
			mw_heap_page_corrupt(mw_page_of_slice((uintptr_t)block));
	return count;
}
