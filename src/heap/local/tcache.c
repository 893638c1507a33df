/* SPDX-License-Identifier: MIT
 * tcache.c -- limits of tcache lists: those that lists start with, and those that a program sets.
 */
#include "heap/local/tcache.h"

#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/local/batch.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"

mw_tcache_config_t mw_tcache_config = {
	.max_bytes = MW_SMALL_MAX_BYTES,
	.first_blocks = MW_TCACHE_FIRST_BLOCKS,
	.most_blocks = MW_TCACHE_MAX_BLOCKS,
};

void **mw_tcache_first(unsigned size_class) {
	return size_class < MW_TINY_CLASSES ? &mw_thread.tcache_tiny[size_class]
					    : &mw_tcache_of(size_class)->first;
}

static uint32_t first_limit(const mw_heap_t *heap, unsigned size_class) {
	uint32_t most = mw_tcache_config.first_blocks;
	bool tiny = size_class < MW_TINY_CLASSES;
	if (heap->arena || heap->tcache_off ||
	    mw_class_bytes[size_class] > heap->tcache_max_bytes ||
	    (tiny && (MW_HARDEN_ON || mw_class_bytes[size_class] < MW_REMOTE_BIN_LEAST_BYTES)))
		return 0;
	uint32_t blocks = MW_TCACHE_FIRST_BYTES / mw_class_bytes[size_class];
	return blocks > most ? most : blocks == 0 ? 1 : blocks;
}

static MW_NOINLINE void set_limit(mw_heap_t *heap, unsigned size_class, uint32_t blocks) {
	heap->tcache_limit[size_class] = (uint8_t)blocks;
	if (size_class < MW_TINY_CLASSES)
		mw_remote_bin_start(heap, size_class);
	else
		mw_tcache_filled(heap, size_class, 0);
}

void mw_tcache_start(mw_heap_t *heap) {
	heap->overflowed = 0;
	heap->tcache_grown_bytes = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		set_limit(heap, c, first_limit(heap, c));
}

void mw_tcache_set_limit(mw_heap_t *heap, size_t least_bytes, size_t most_bytes, size_t blocks) {
	if (heap->arena)
		return;
	heap->tcache_grown_bytes = MW_TCACHE_GROWTH_BYTES;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		if (mw_class_bytes[c] >= least_bytes && mw_class_bytes[c] <= most_bytes &&
		    !(MW_HARDEN_ON && c < MW_TINY_CLASSES))
			set_limit(heap, c,
				  blocks < MW_TCACHE_LIMIT ? (uint32_t)blocks : MW_TCACHE_LIMIT);
}

static bool may_grow(const mw_heap_t *heap, size_t more_bytes) {
	size_t grown_bytes = heap->tcache_grown_bytes + more_bytes;
	return grown_bytes <= MW_TCACHE_GROWTH_BYTES &&
	       grown_bytes <= heap->pages_most * MW_SLICE_BYTES / MW_TCACHE_GROWTH_PART;
}

void mw_tcache_grow(mw_heap_t *heap, unsigned size_class) {
	heap->overflowed &= ~((uint64_t)1 << size_class);
	uint32_t limit = heap->tcache_limit[size_class];
	size_t more_bytes = (size_t)limit * mw_class_bytes[size_class];
	if (limit * 2 > mw_tcache_config.most_blocks || more_bytes * 2 > MW_TCACHE_MAX_BYTES ||
	    !may_grow(heap, more_bytes))
		return;
	heap->tcache_limit[size_class] = (uint8_t)(limit * 2);
	if (size_class < MW_TINY_CLASSES)
		mw_remote_bin(heap, size_class)->room += (int32_t)limit;
	else
		mw_tcache_of(size_class)->room += (int32_t)limit;
	heap->tcache_grown_bytes += more_bytes;
}

/* Most blocks of a list: a page of the smallest blocks, and those that free() may add (tcache.h).
 */
#define TCACHE_MAX_BLOCKS (MW_SLICE_BYTES / MW_BLOCK_ALIGN + UINT8_MAX)

uint32_t mw_tcache_count_list(const void *list) {
	uint32_t count = 0;
	/* Bounded: a block freed twice can make a list cyclic. */
	for (const void *block = list; block; block = mw_link_get(block))
		if (++count > TCACHE_MAX_BLOCKS)
			mw_heap_page_corrupt(mw_page_of_slice((uintptr_t)block));
	return count;
}
