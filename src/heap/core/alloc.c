/* SPDX-License-Identifier: MIT
 * alloc.c -- the slow paths of allocation. */
#include "heap/core/alloc.h"

#include <string.h>

#include "base/check.h"
#include "heap/arena/arena.h"
#include "heap/arena/extent.h"
#include "heap/core/arena_blocks.h"
#include "heap/core/fast.h"
#include "heap/core/large.h"
#include "heap/core/refill.h"
#include "heap/layout/harden_block.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/local/heap.h"
#include "heap/sample/sampling.h"
#include "heap/thread/binding.h"
#include "heap/thread/thread.h"
#include "heap/thread/verify.h"

/* Called when the pop of the class returned no block; above tiny the pop may have counted the
 * object. */
void *mw_heap_alloc_class_slow(size_t bytes, unsigned size_class) {
	mw_heap_t *heap = mw_thread.heap;
	if (MW_UNLIKELY(!heap) && !(heap = mw_heap_self()))
		return NULL;
	mw_verify_tick(heap);
	if (MW_UNLIKELY(heap->arena != NULL))
		return mw_arena_block_alloc(heap, mw_arena_in_force(heap), bytes, size_class);
	return mw_refill(heap, size_class, bytes);
}

/* Any size above the small limit; *zeroed is only set when known. */
static void *alloc_beyond_small(size_t bytes, bool *zeroed) {
	mw_heap_t *heap = mw_heap_self();
	if (!heap)
		return NULL;
	/* A thread all of whose large requests are refused must still notice a raised limit. */
	mw_sampling_poll(heap);
	return mw_large_alloc(heap, mw_arena_in_force(heap), 1, bytes, zeroed);
}

void *mw_heap_alloc_slow(size_t bytes) {
	if (MW_LIKELY(bytes <= MW_SMALL_MAX_BYTES))
		return mw_heap_alloc_class_slow(bytes, mw_class_of(bytes));
	bool zeroed = false;
	return alloc_beyond_small(bytes, &zeroed);
}

void *mw_heap_alloc_zeroed_slow(size_t bytes) {
	bool zeroed = false;
	void *block = bytes <= MW_SMALL_MAX_BYTES
			      ? mw_heap_alloc_class_slow(bytes, mw_class_of(bytes))
			      : alloc_beyond_small(bytes, &zeroed);
	if (block && !zeroed)
		memset(block, 0, mw_harden_requested(bytes));
	return block;
}

void *mw_heap_alloc(size_t bytes) {
	void *block = mw_fast_alloc(bytes);
	return block ? block : mw_heap_alloc_slow(bytes);
}

void *mw_heap_alloc_zeroed(size_t bytes) {
	void *block = mw_fast_alloc(bytes);
	return block ? memset(block, 0, mw_harden_requested(bytes))
		     : mw_heap_alloc_zeroed_slow(bytes);
}

/* Returns the smallest class whose blocks all start at multiples of `align`, for align <= 64 KiB:
 * runs start at multiples of 64 KiB.  MW_CLASS_COUNT: there is none. */
static unsigned aligned_class(size_t align, size_t bytes) {
	if (align > MW_SMALL_MAX_BYTES || bytes > MW_SMALL_MAX_BYTES)
		return MW_CLASS_COUNT;
	unsigned size_class = mw_class_of(bytes > align ? bytes : align);
	while (size_class < MW_CLASS_COUNT && (mw_class_bytes[size_class] & (align - 1)) != 0)
		size_class++;
	return size_class;
}

size_t mw_heap_bytes_for(size_t align, size_t bytes) {
	if (align <= MW_BLOCK_ALIGN)
		return bytes <= MW_SMALL_MAX_BYTES ? mw_class_bytes[mw_class_of(bytes)]
						   : mw_large_usable_bytes(bytes);
	unsigned size_class = aligned_class(align, bytes);
	return size_class < MW_CLASS_COUNT ? mw_class_bytes[size_class]
					   : mw_large_usable_bytes(bytes);
}

void *mw_heap_alloc_aligned(size_t align, size_t bytes) {
	MW_ASSERT(mw_is_pow2(align));
	if (align <= MW_BLOCK_ALIGN)
		return mw_heap_alloc_slow(bytes);
	unsigned size_class = aligned_class(align, bytes);
	if (size_class < MW_CLASS_COUNT)
		return mw_heap_alloc_class_slow(bytes, size_class);
	mw_heap_t *heap = mw_heap_self();
	bool zeroed;
	return heap ? mw_large_alloc(heap, mw_arena_in_force(heap), align, bytes, &zeroed) : NULL;
}

void *mw_heap_alloc_in(mw_arena_t *arena, size_t align, size_t bytes, bool *zeroed) {
	MW_ASSERT(mw_is_pow2(align));
	mw_heap_t *heap = mw_heap_self();
	if (!heap)
		return NULL;
	/* A block that a hook allocates while it gets memory for an arena belongs to no arena. */
	if (mw_extent_in_hook)
		arena = NULL;
	unsigned size_class = aligned_class(align, bytes);
	if (size_class < MW_CLASS_COUNT)
		return mw_arena_block_alloc(heap, arena, bytes, size_class);
	return mw_large_alloc(heap, arena, align, bytes, zeroed);
}
