/* SPDX-License-Identifier: MIT
 * free.c -- everything of free() that the fast path leaves over. */
#include "base/check.h"
#include "heap/chunk.h"
#include "heap/heap.h"
#include "heap/heap_page.h"
#include "heap/huge.h"
#include "heap/medium.h"
#include "heap/misuse.h"
#include "heap/orphan.h"
#include "heap/remote.h"
#include "heap/sampled.h"
#include "heap/sampling.h"

/* The inbox of a full page got its first block: its heap must hear of it.  PENDING keeps the page
 * with that heap until it has. */
static void notify_heap(mw_page_t *page) {
	mw_heap_t *heap = atomic_load_explicit(&page->heap, memory_order_relaxed);
	mw_page_t *first = atomic_load_explicit(&heap->pending, memory_order_relaxed);
	do {
		page->pending_next = first;
		/* Pairs with the exchange in mw_heap_take_pending(). */
	} while (!atomic_compare_exchange_weak_explicit(
		&heap->pending, &first, page, memory_order_release, memory_order_relaxed));
}

static void free_remote(mw_page_t *page, void *block) {
	/* Read before the push: afterwards the page may be anybody's. */
	unsigned size_class = page->size_class;
	uint64_t word = atomic_load_explicit(&page->remote, memory_order_relaxed);
	if (MW_UNLIKELY(mw_remote_list(word) == block))
		mw_misuse_double_free(block, page);
	uint64_t old = mw_remote_push(page, block);
	if (old & MW_REMOTE_FULL)
		notify_heap(page);
	else if ((old & MW_REMOTE_ORPHAN) &&
		 mw_remote_count(old) + 1 == __atomic_load_n(&page->used, __ATOMIC_RELAXED))
		mw_orphan_reclaim(page, size_class);
}

static void free_own(mw_heap_t *heap, mw_page_t *page, void *block) {
	if (MW_UNLIKELY(page->free == block))
		mw_misuse_double_free(block, page);
	*(void **)block = page->free;
	page->free = block;
	page->used--;
	if (page->state == MW_PAGE_FULL)
		mw_heap_page_unfull(heap, page);
	if (page->used == 0)
		mw_heap_page_emptied(page);
}

static void free_in_page(mw_page_t *page, void *block) {
	mw_heap_t *heap = mw_thread.heap;
	if (heap && atomic_load_explicit(&page->heap, memory_order_relaxed) == heap)
		free_own(heap, page, block);
	else
		free_remote(page, block);
}

static void free_large(mw_page_t *page, void *block) {
	if (block != page->start)
		mw_misuse_misaligned("free", block, page);
	if (page->large_record)
		mw_sampling_freed(page->large_record);
	mw_chunk_give(page, MW_PAGE_FREED);
}

void mw_heap_free_slow(void *block) {
	if (!block)
		return;
	unsigned where = mw_address_kind((uintptr_t)block);
	if (where == MW_MAP_FOREIGN)
		mw_misuse_foreign("free", block);
	if (where == MW_MAP_HUGE) {
		mw_record_id_t record = mw_huge_free(block);
		if (record)
			mw_sampling_freed(record);
		return;
	}
	mw_page_t *slice = mw_page_of_slice((uintptr_t)block);
	if (mw_page_slice_index(slice) == 0)
		mw_misuse_foreign("free", block);
	mw_page_t *page = mw_page_first(slice);
	mw_record_id_t record = 0;
	switch ((mw_page_kind_t)page->kind) {
	case MW_PAGE_SMALL:
		free_in_page(page, block);
		return;
	case MW_PAGE_MEDIUM:
		record = mw_medium_take_record(page, block);
		free_in_page(page, block);
		break;
	case MW_PAGE_SAMPLED:
		record = mw_sampled_give(page, block);
		break;
	case MW_PAGE_LARGE:
		free_large(page, block);
		return;
	case MW_PAGE_NONE:
	case MW_PAGE_INTERIOR:
	case MW_PAGE_FREED:
		mw_misuse_dead("free", block, page);
	}
	if (record)
		mw_sampling_freed(record);
}
