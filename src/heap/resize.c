/* SPDX-License-Identifier: MIT
 * resize.c -- usable sizes and realloc. */
#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "heap/chunk.h"
#include "heap/fast.h"
#include "heap/heap.h"
#include "heap/huge.h"
#include "heap/misuse.h"
#include "heap/sampling.h"

/* The page of a live block in a chunk; ends the program when there is none. */
static mw_page_t *page_or_die(const char *function, const void *block) {
	if (mw_word_kind((uintptr_t)block) != MW_MAP_CHUNK)
		mw_misuse_foreign(function, block);
	mw_page_t *slice = mw_page_of_slice((uintptr_t)block);
	if (mw_page_slice_index(slice) == 0)
		mw_misuse_foreign(function, block);
	mw_page_t *page = mw_page_first(slice);
	switch ((mw_page_kind_t)page->kind) {
	case MW_PAGE_SMALL:
		/* A division would show in every realloc. */
		if ((uintptr_t)block % MW_BLOCK_ALIGN != 0)
			mw_misuse_misaligned(function, block, page);
		return page;
	case MW_PAGE_SAMPLED:
		if ((size_t)((const char *)block - page->start) % page->block_bytes != 0)
			mw_misuse_misaligned(function, block, page);
		return page;
	case MW_PAGE_LARGE:
		if (block != page->start)
			mw_misuse_misaligned(function, block, page);
		return page;
	default:
		mw_misuse_dead(function, block, page);
	}
}

static size_t usable_or_die(const char *function, const void *block) {
	if (mw_word_kind((uintptr_t)block) == MW_MAP_HUGE) {
		size_t bytes = mw_huge_usable_bytes(block);
		if (bytes == 0)
			mw_misuse_foreign(function, block);
		return bytes;
	}
	const mw_page_t *page = page_or_die(function, block);
	return page->kind == MW_PAGE_LARGE ? page->large_bytes : page->block_bytes;
}

size_t mw_heap_usable_bytes(const void *block) {
	return usable_or_die("malloc_usable_size", block);
}

/* Within the slices the block has, or with free ones behind them.  For the sampler the block is
 * freed and made again: each size is a trial of its own, so estimates stay unbiased. */
static bool resize_large(void *block, size_t bytes) {
	mw_page_t *page = mw_page_of_slice((uintptr_t)block);
	size_t new_bytes = mw_round_up(bytes, 4096);
	size_t span_bytes = page->slice_count * MW_SLICE_BYTES;
	if (new_bytes < page->large_bytes / 2 || new_bytes > MW_CHUNK_BYTES)
		return false;
	if (new_bytes > span_bytes) {
		size_t missing = (new_bytes - span_bytes + MW_SLICE_BYTES - 1) >> MW_SLICE_SHIFT;
		if (!mw_chunk_extend(page, (unsigned)missing))
			return false;
	}
	if (new_bytes == page->large_bytes)
		return true;
	mw_heap_t *heap = mw_heap_self();
	if (page->large_record)
		mw_sampling_freed(page->large_record);
	page->large_bytes = new_bytes;
	page->large_record = heap ? mw_sampling_count_bytes(heap, block, bytes, new_bytes) : 0;
	return true;
}

static void *resize_huge(void *block, size_t bytes) {
	size_t usable_bytes = 0;
	mw_record_id_t record = 0;
	void *moved = mw_huge_resize(block, bytes, &usable_bytes, &record);
	if (!moved)
		return NULL;
	if (record)
		mw_sampling_freed(record);
	mw_heap_t *heap = mw_heap_self();
	record = heap ? mw_sampling_count_bytes(heap, moved, bytes, usable_bytes) : 0;
	if (record)
		mw_huge_set_record(moved, record);
	return moved;
}

void *mw_heap_resize(void *block, size_t bytes) {
	bool huge = mw_word_kind((uintptr_t)block) == MW_MAP_HUGE;
	size_t usable_bytes = usable_or_die("realloc", block);
	if (huge && bytes > ((size_t)2 << 20)) {
		if (mw_round_up(bytes, 4096) == usable_bytes)
			return block;
		if (bytes <= PTRDIFF_MAX) {
			void *moved = resize_huge(block, bytes);
			if (moved)
				return moved;
		}
	} else if (usable_bytes > MW_SMALL_MAX_BYTES) {
		if (!huge && bytes > MW_SMALL_MAX_BYTES && resize_large(block, bytes))
			return block;
	} else if (mw_fast_keeps(usable_bytes, bytes)) {
		return block;
	}
	void *moved = mw_fast_alloc(bytes);
	if (!moved)
		moved = mw_heap_alloc(bytes);
	if (!moved)
		/* A smaller size needs no memory: the block stays. */
		return bytes <= usable_bytes ? block : NULL;
	memcpy(moved, block, usable_bytes < bytes ? usable_bytes : bytes);
	mw_fast_free(block);
	return moved;
}
