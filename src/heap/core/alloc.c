/* SPDX-License-Identifier: MIT
 * alloc.c -- the slow paths of allocation. */
#include "heap/core/alloc.h"

#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "heap/arena/arena.h"
#include "heap/arena/extent.h"
#include "heap/core/fast.h"
#include "heap/core/refill.h"
#include "heap/large/huge.h"
#include "heap/layout/counters.h"
#include "heap/layout/harden_block.h"
#include "heap/layout/page.h"
#include "heap/layout/record.h"
#include "heap/layout/size_class.h"
#include "heap/layout/slices.h"
#include "heap/local/counts.h"
#include "heap/local/heap.h"
#include "heap/memory/chunk.h"
#include "heap/memory/harden_space.h"
#include "heap/sample/sampled.h"
#include "heap/sample/sampling.h"
#include "heap/thread/binding.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "heap/thread/verify.h"

/* Most bytes of a large block.  Above half a chunk a run of slices rarely fits beside others:
 * larger blocks get their own mapping. */
#define LARGE_MAX_BYTES ((size_t)2 << 20)

/* Allocates a block of an arena, in a sampled-slot page, and counts it down by its bytes
 * (heap/arena/arena.h). */
static MW_SAMPLED_ONLY void *alloc_in_slab(mw_heap_t *heap, mw_arena_t *arena, size_t bytes,
					   unsigned size_class) {
	uint32_t *mark;
	void *block = mw_sampled_take(arena, size_class, &mark);
	if (!block)
		return NULL;
	size_t usable_bytes = mw_class_bytes[size_class];
	heap->counts.large_bytes += usable_bytes;
	mw_heap_counts_show(heap);
	mw_sampled_bind(mark, mw_sampling_count_bytes(heap, block, bytes, usable_bytes));
	return block;
}

/* Called when the pop of the class returned no block; above tiny the pop may have counted the
 * object. */
void *mw_heap_alloc_class_slow(size_t bytes, unsigned size_class) {
	mw_heap_t *heap = mw_thread.heap;
	if (MW_UNLIKELY(!heap) && !(heap = mw_heap_self()))
		return NULL;
	mw_verify_tick(heap);
	if (MW_UNLIKELY(heap->arena != NULL))
		return alloc_in_slab(heap, mw_arena_in_force(heap), bytes, size_class);
	return mw_refill(heap, size_class, bytes);
}

/* Called before the block may be sampled: a hook that is told of the sample finds the block
 * counted. */
static void count_large(mw_heap_t *heap, mw_arena_t *arena, size_t usable_bytes) {
	if (MW_UNLIKELY(arena != NULL))
		mw_arena_count_large(arena, usable_bytes, true);
	heap->counts.large++;
	heap->counts.large_bytes += usable_bytes;
	mw_counters_add(&mw_counters.large_made[mw_large_class(usable_bytes)], 1);
	mw_heap_counts_show(heap);
}

static unsigned slices_for(size_t bytes) {
	return (unsigned)((bytes + MW_SLICE_BYTES - 1) >> MW_SLICE_SHIFT);
}

/* Returns whether an empty chunk holds the block.  A chunk of the hardened library has its guard
 * where a run that is aligned to half a chunk would end. */
static bool fits_chunk(size_t bytes, unsigned align_slices) {
	return bytes <= LARGE_MAX_BYTES &&
	       mw_slices_find(MW_HARDEN_USABLE_SLICES,
			      slices_for(mw_harden_large_bytes(bytes) + MW_HARDEN_TAIL_BYTES),
			      align_slices) != MW_CHUNK_SLICES;
}

static unsigned slices_to_align(size_t align) {
	return align > MW_SLICE_BYTES ? (unsigned)(align >> MW_SLICE_SHIFT) : 1;
}

/* Slices of an arena come from a program's functions: the hardened library guards none of them. */
static mw_page_t *take_large(mw_heap_t *heap, mw_arena_t *arena, size_t block_bytes, size_t align) {
	unsigned align_slices = slices_to_align(align);
	if (MW_UNLIKELY(arena != NULL))
		return mw_arena_take(arena, slices_for(block_bytes), align_slices);
	size_t lead_bytes = mw_harden_lead_bytes(align);
	unsigned slices = slices_for(lead_bytes + block_bytes + MW_HARDEN_TAIL_BYTES);
	mw_page_t *page = mw_chunk_take_large(slices, align_slices, lead_bytes, block_bytes);
	if (MW_UNLIKELY(!page) && mw_harden_make_room(heap))
		page = mw_chunk_take_large(slices, align_slices, lead_bytes, block_bytes);
	return page;
}

static void *alloc_large(mw_heap_t *heap, mw_arena_t *arena, size_t bytes, size_t align,
			 bool *zeroed) {
	mw_cached_heaps_maintain();
	size_t block_bytes = mw_harden_large_bytes(bytes);
	mw_page_t *page = take_large(heap, arena, block_bytes, align);
	if (!page)
		return NULL;
	void *block = page->start;
	page->large_bytes = block_bytes;
	MW_HOLD(block);
	page->kind = MW_PAGE_LARGE;
	*zeroed = page->zeroed;
	count_large(heap, arena, page->large_bytes);
	page->large_record = mw_sampling_count_bytes(heap, block, bytes, page->large_bytes);
	mw_sampling_grew(heap, mw_heap_in_use_bytes());
	return block;
}

static void *alloc_huge(mw_heap_t *heap, mw_arena_t *arena, size_t bytes, size_t align,
			bool *zeroed) {
	size_t usable_bytes = 0;
	void *block = mw_huge_alloc(arena, bytes, align, &usable_bytes, zeroed);
	if (MW_UNLIKELY(!block) && mw_harden_make_room(heap))
		block = mw_huge_alloc(arena, bytes, align, &usable_bytes, zeroed);
	if (!block)
		return NULL;
	count_large(heap, arena, usable_bytes);
	mw_record_id_t record = mw_sampling_count_bytes(heap, block, bytes, usable_bytes);
	if (record)
		mw_huge_set_record(block, record);
	mw_sampling_grew(heap, mw_heap_in_use_bytes());
	return block;
}

/* Any size above the small limit; *zeroed is only set when known. */
static void *alloc_beyond_small(size_t bytes, bool *zeroed) {
	mw_heap_t *heap = mw_heap_self();
	if (!heap)
		return NULL;
	/* A thread all of whose large requests are refused must still notice a raised limit. */
	mw_sampling_poll(heap);
	mw_arena_t *arena = mw_arena_in_force(heap);
	if (bytes <= LARGE_MAX_BYTES)
		return alloc_large(heap, arena, bytes, 1, zeroed);
	return alloc_huge(heap, arena, bytes, 1, zeroed);
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

static size_t aligned_span(size_t bytes) {
	return bytes > MW_SMALL_MAX_BYTES ? bytes : MW_SMALL_MAX_BYTES + 1;
}

size_t mw_heap_bytes_for(size_t align, size_t bytes) {
	if (align <= MW_BLOCK_ALIGN)
		return bytes <= MW_SMALL_MAX_BYTES ? mw_class_bytes[mw_class_of(bytes)]
						   : mw_round_up(bytes, 4096);
	unsigned size_class = aligned_class(align, bytes);
	return size_class < MW_CLASS_COUNT ? mw_class_bytes[size_class]
					   : mw_round_up(aligned_span(bytes), 4096);
}

static void *alloc_span(mw_heap_t *heap, mw_arena_t *arena, size_t align, size_t bytes,
			bool *zeroed) {
	size_t span_bytes = aligned_span(bytes);
	if (align <= LARGE_MAX_BYTES && fits_chunk(span_bytes, slices_to_align(align)))
		return alloc_large(heap, arena, span_bytes, align, zeroed);
	return alloc_huge(heap, arena, span_bytes, align, zeroed);
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
	return heap ? alloc_span(heap, mw_arena_in_force(heap), align, bytes, &zeroed) : NULL;
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
		return alloc_in_slab(heap, arena, bytes, size_class);
	return alloc_span(heap, arena, align, bytes, zeroed);
}
