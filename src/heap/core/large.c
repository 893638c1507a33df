/* SPDX-License-Identifier: MIT
 * large.c -- allocates and frees blocks above the small limit. */
#include "heap/core/large.h"

#include <string.h>

#include "base/bits.h"
#include "heap/arena/arena.h"
#include "heap/large/huge.h"
#include "heap/layout/counters.h"
#include "heap/layout/slices.h"
#include "heap/local/counts.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/memory/chunk.h"
#include "heap/memory/harden_space.h"
#include "heap/memory/limit.h"
#include "heap/misuse/misuse.h"
#include "heap/sample/sampling.h"
#include "heap/sample/slot_cache.h"
#include "heap/thread/maintain.h"

/* Most bytes of a large block.  Above half a chunk a run of slices rarely fits beside others:
 * larger blocks get their own mapping. */
#define LARGE_MAX_BYTES ((size_t)2 << 20)
#define LARGE_MIN_BYTES (MW_SMALL_MAX_BYTES + 1)

/* Called before the block may be sampled: a hook that is told of the sample finds the block
 * counted. */
static void count_made(mw_heap_t *heap, mw_arena_t *arena, size_t usable_bytes) {
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
	return align_slices == 1 ||
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
	count_made(heap, arena, page->large_bytes);
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
	count_made(heap, arena, usable_bytes);
	mw_record_id_t record = mw_sampling_count_bytes(heap, block, bytes, usable_bytes);
	if (record)
		mw_huge_set_record(block, record);
	mw_sampling_grew(heap, mw_heap_in_use_bytes());
	return block;
}

size_t mw_large_usable_bytes(size_t bytes) {
	return mw_round_up(bytes < LARGE_MIN_BYTES ? LARGE_MIN_BYTES : bytes, 4096);
}

void *mw_large_alloc(mw_heap_t *heap, mw_arena_t *arena, size_t align, size_t bytes, bool *zeroed) {
	if (bytes < LARGE_MIN_BYTES)
		bytes = LARGE_MIN_BYTES;
	if (bytes <= LARGE_MAX_BYTES && align <= LARGE_MAX_BYTES &&
	    fits_chunk(bytes, slices_to_align(align)))
		return alloc_large(heap, arena, bytes, align, zeroed);
	return alloc_huge(heap, arena, bytes, align, zeroed);
}

static void count_freed(mw_arena_t *arena, size_t usable_bytes) {
	mw_counters_add(&mw_counters.large_freed[mw_large_class(usable_bytes)], 1);
	if (MW_UNLIKELY(arena != NULL))
		mw_arena_count_large(arena, usable_bytes, false);
	mw_heap_t *heap = mw_thread.heap;
	if (!heap)
		return;
	heap->counts.large_freed++;
	heap->counts.large_freed_bytes += usable_bytes;
	heap->counts.freed_bytes += usable_bytes;
}

void mw_large_free(mw_page_t *page, void *block) {
	if (block != page->start)
		mw_misuse_misaligned(mw_misuse_function(), block, page);
	if (!MW_HARDEN_ON && MW_UNLIKELY(mw_heap_fill_freed >= 0))
		memset(block, mw_heap_fill_freed, page->large_bytes);
	if (page->large_record)
		mw_sampling_freed(page->large_record);
	count_freed(mw_chunk_of(page)->arena, page->large_bytes);
	mw_arena_or_chunk_give(page, MW_PAGE_FREED);
	MW_HOLD(block);
}

mw_record_id_t mw_large_free_huge(void *block) {
	mw_huge_block_t freed = mw_huge_free(block);
	count_freed(mw_arena_of(freed.arena), freed.bytes);
	return freed.record;
}
