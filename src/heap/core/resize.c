/* SPDX-License-Identifier: MIT
 * resize.c -- usable sizes and realloc. */
#include "heap/core/resize.h"

#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/core/lookup.h"
#include "heap/large/huge.h"
#include "heap/layout/counters.h"
#include "heap/layout/page.h"
#include "heap/layout/record.h"
#include "heap/layout/size_class.h"
#include "heap/local/counts.h"
#include "heap/local/heap.h"
#include "heap/memory/chunk.h"
#include "heap/memory/harden_space.h"
#include "heap/sample/sampling.h"
#include "heap/thread/thread.h"

/* Returns the bytes of a small block that is not sampled, as most blocks are.  0: the block is
 * another one, or none. */
MW_ALWAYS_INLINE size_t bytes_at_once(const void *block) {
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) != MW_MAP_CHUNK))
		return 0;
	const mw_page_t *page = mw_page_of_slice((uintptr_t)block);
	/* The chunk's own record is no page: its kind reads as none. */
	bool ordinary = page->kind == MW_PAGE_SMALL && mw_page_holds(page, block);
	return MW_LIKELY(ordinary) ? page->block_bytes : 0;
}

/* Some programs call malloc_usable_size() for each block that they allocate or free; redis-server
 * does. */
size_t mw_heap_usable_bytes(const void *block) {
	size_t bytes = bytes_at_once(block);
	return MW_LIKELY(bytes != 0) ? bytes : mw_lookup_bytes("malloc_usable_size", block);
}

bool mw_heap_blocks_stayed;

/* Pays for a copy of so many bytes; false: the thread has not saved up that many. */
static bool pay_for_copy(size_t bytes) {
	if (bytes > mw_thread.copy_bytes)
		return false;
	mw_thread.copy_bytes -= (uint32_t)bytes;
	return true;
}

bool mw_heap_shrink_stays(size_t usable_bytes, size_t bytes) {
	if (bytes > usable_bytes || bytes < usable_bytes / 2)
		return false;
	if (bytes > mw_thread.copy_bytes)
		return true;
	return mw_class_bytes[mw_class_of(bytes)] >= usable_bytes || !pay_for_copy(bytes);
}

/* Counts a resize as a free and an allocation.  heap may be NULL. */
static void count_resized(mw_heap_t *heap, size_t old_bytes, size_t new_bytes) {
	mw_counters_add(&mw_counters.large_freed[mw_large_class(old_bytes)], 1);
	mw_counters_add(&mw_counters.large_made[mw_large_class(new_bytes)], 1);
	if (!heap)
		return;
	heap->counts.large++;
	heap->counts.large_freed++;
	heap->counts.large_bytes += new_bytes;
	heap->counts.large_freed_bytes += old_bytes;
	heap->counts.freed_bytes += old_bytes;
	mw_heap_counts_show(heap);
}

/* Makes room for the block to have `bytes`, with free slices behind its own if they do not do. */
static bool make_room(mw_page_t *page, size_t bytes) {
	size_t needed_bytes = (uintptr_t)page->start % MW_SLICE_BYTES + bytes;
	if (!mw_chunk_of(page)->arena)
		needed_bytes += MW_HARDEN_TAIL_BYTES;
	size_t span_bytes = page->slice_count * MW_SLICE_BYTES;
	if (needed_bytes <= span_bytes)
		return true;
	size_t missing = (needed_bytes - span_bytes + MW_SLICE_BYTES - 1) >> MW_SLICE_SHIFT;
	return mw_chunk_extend(page, (unsigned)missing);
}

/* Resizes within the block's slices, or with free slices behind them.  For the sampler the block is
 * freed and made again: each size is a trial of its own, so estimates stay unbiased. */
static bool resize_large(void *block, size_t bytes) {
	mw_page_t *page = mw_page_of_slice((uintptr_t)block);
	size_t new_bytes = mw_harden_large_bytes(bytes);
	if (new_bytes < page->large_bytes / 2 || new_bytes > MW_CHUNK_BYTES)
		return false;
	if (new_bytes == page->large_bytes)
		return true;
	if (!mw_harden_unguard_tail(page))
		return false;
	if (!make_room(page, new_bytes)) {
		mw_harden_guard_tail(page);
		return false;
	}
	mw_heap_t *heap = mw_heap_self();
	if (page->large_record)
		mw_sampling_freed(page->large_record);
	count_resized(heap, page->large_bytes, new_bytes);
	page->large_bytes = new_bytes;
	mw_harden_guard_tail(page);
	page->large_record = heap ? mw_sampling_count_bytes(heap, block, bytes, new_bytes) : 0;
	return true;
}

static void *resize_huge(void *block, size_t old_bytes, size_t bytes) {
	size_t usable_bytes = 0;
	mw_record_id_t record = 0;
	void *moved = mw_huge_resize(block, bytes, &usable_bytes, &record);
	if (!moved)
		return NULL;
	if (record)
		mw_sampling_freed(record);
	mw_heap_t *heap = mw_heap_self();
	count_resized(heap, old_bytes, usable_bytes);
	record = heap ? mw_sampling_count_bytes(heap, moved, bytes, usable_bytes) : 0;
	if (record)
		mw_huge_set_record(moved, record);
	return moved;
}

void *mw_heap_resize_in_place(void *block, size_t bytes, size_t *usable_bytes) {
	bool huge = mw_word_kind((uintptr_t)block) == MW_MAP_HUGE;
	*usable_bytes = mw_lookup_bytes("realloc", block);
	if (huge && bytes > ((size_t)2 << 20)) {
		if (mw_round_up(bytes, 4096) == *usable_bytes)
			return block;
		return bytes <= PTRDIFF_MAX ? resize_huge(block, *usable_bytes, bytes) : NULL;
	}
	if (*usable_bytes > MW_SMALL_MAX_BYTES) {
		bool resized = !huge && bytes > MW_SMALL_MAX_BYTES && resize_large(block, bytes);
		return resized ? block : NULL;
	}
	return mw_heap_shrink_stays(*usable_bytes, bytes) ? block : NULL;
}

/* Largest class with room for growth.  A larger block that stops growing would keep a quarter of
 * itself unused: redis-server's list nodes of 8 KiB lay in blocks of 10 KiB. */
#define ROOM_MAX_BYTES 4096u

/* Allocates the new place of a block that grows.  A program that grows a block by a little usually
 * grows it again.  While the block is small, it gets room for a quarter more, so that it is copied
 * less often, unless the next copy is paid for: the block may never grow again.  The sampler sees
 * the size that was requested. */
static void *alloc_grown(size_t usable_bytes, size_t bytes) {
	size_t room = usable_bytes + usable_bytes / 4;
	if (bytes > usable_bytes && bytes < room && room <= ROOM_MAX_BYTES &&
	    !pay_for_copy(bytes)) {
		unsigned size_class = mw_class_of(room);
		void *block = mw_fast_alloc_class(size_class);
		if (!block)
			block = mw_heap_alloc_class_slow(bytes, size_class);
		if (MW_LIKELY(block != NULL))
			return block;
	}
	void *block = mw_fast_alloc(bytes);
	return block ? block : mw_heap_alloc_slow(bytes);
}

void *mw_heap_resize(void *block, size_t bytes) {
	size_t usable_bytes = bytes_at_once(block);
	void *same = NULL;
	if (MW_UNLIKELY(usable_bytes == 0))
		same = mw_heap_resize_in_place(block, bytes, &usable_bytes);
	else if (mw_heap_shrink_stays(usable_bytes, bytes))
		same = block;
	if (same)
		return same;
	void *moved = alloc_grown(usable_bytes, bytes);
	if (!moved) {
		/* A smaller size needs no memory: the block stays. */
		if (bytes > usable_bytes)
			return NULL;
		__atomic_store_n(&mw_heap_blocks_stayed, true, __ATOMIC_RELAXED);
		return block;
	}
	/* Programs may use all bytes that malloc_usable_size() names, so a block that becomes
	 * smaller keeps all of them that fit, not only those requested. */
	size_t fit_bytes = bytes < usable_bytes ? mw_heap_usable_bytes(moved) : usable_bytes;
	memcpy(moved, block, usable_bytes < fit_bytes ? usable_bytes : fit_bytes);
	mw_fast_free(block);
	return moved;
}
