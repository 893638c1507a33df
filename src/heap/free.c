/* SPDX-License-Identifier: MIT
 * free.c -- everything of free() that the fast path leaves over. */
#include "base/check.h"
#include "heap/chunk.h"
#include "heap/heap.h"
#include "heap/heap_page.h"
#include "heap/huge.h"
#include "heap/medium.h"
#include "heap/misuse.h"
#include "heap/outbox.h"
#include "heap/sampled.h"
#include "heap/sampling.h"

/* Blocks that go straight to the thread's list head, so many between two refills.  Of small classes
 * those of full pages: in a steady state of random lifetimes pages would otherwise go in and out of
 * their queue for single blocks.  Of medium classes all: a cold block is a cache miss a line. */
#define HAND_BACK_SMALL 16u
/* What waits in a head pins memory. */
#define HAND_BACK_BYTES (128u << 10)

static bool hand_back(mw_heap_t *heap, const mw_page_t *page, void *block) {
	unsigned size_class = page->size_class;
	void **head = &mw_thread.heads[size_class];
	if (MW_UNLIKELY(*head == block))
		mw_misuse_double_free(block, page);
	unsigned limit = HAND_BACK_BYTES / page->block_bytes;
	if (limit > HAND_BACK_SMALL)
		limit = HAND_BACK_SMALL;
	if (heap->handed_back[size_class] >= limit || !mw_sampling_allow_one(heap, size_class))
		return false;
	heap->handed_back[size_class]++;
	*(void **)block = *head;
	*head = block;
	return true;
}

static void free_own(mw_heap_t *heap, mw_page_t *page, void *block) {
	if (MW_UNLIKELY(page->free == block))
		mw_misuse_double_free(block, page);
	if ((page->state == MW_PAGE_FULL || page->kind == MW_PAGE_MEDIUM) &&
	    hand_back(heap, page, block))
		return;
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
		mw_outbox_add(heap, page, block);
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
	unsigned where = mw_word_kind((uintptr_t)block);
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
