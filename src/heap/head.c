/* SPDX-License-Identifier: MIT
 * head.c -- the limits that list heads start with, and those that a program sets. */
#include "heap/head.h"

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
	if (heap->arena || heap->heads_off || size_class < MW_TINY_CLASSES ||
	    mw_class_bytes[size_class] > heap->head_max_bytes)
		return 0;
	uint32_t blocks = MW_HEAD_FIRST_BYTES / mw_class_bytes[size_class];
	return blocks > most ? most : blocks == 0 ? 1 : blocks;
}

static MW_NOINLINE void set_limit(mw_heap_t *heap, unsigned size_class, uint32_t blocks) {
	heap->head_limit[size_class] = (uint8_t)blocks;
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
		if (mw_class_bytes[c] >= least_bytes && mw_class_bytes[c] <= most_bytes)
			set_limit(heap, c,
				  blocks < MW_HEAD_LIMIT ? (uint32_t)blocks : MW_HEAD_LIMIT);
}
