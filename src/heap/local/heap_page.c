/* SPDX-License-Identifier: MIT
 * heap_page.c -- the lists of a page, and the heap that a page belongs to. */
#include "heap/local/heap_page.h"

#include "base/bits.h"
#include "base/check.h"
#include "heap/layout/harden_block.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/remote_word.h"
#include "heap/layout/size_class.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/local/holes.h"
#include "os/memory/map.h"

/* Blocks are linked up to one kernel page at a time: a program that needs a few blocks of a class
 * does not touch 64 KiB. */
#define CARVE_BYTES 4096u

/* In a heap with so many pages a new page's memory comes from the kernel in larger steps than it is
 * linked in, unless it comes as part of a huge page.  The memory that is populated too early is
 * then a small share of the heap. */
#define POPULATE_PAGES 256u
#define POPULATE_BYTES (16u << 10)
#define POPULATE_ALL_PAGES 1024u
/* Larger blocks leave kernel pages without a link, which the program may never touch. */
#define POPULATE_BLOCK_BYTES 4096u

/* The heap is the calling thread's. */
static void claim(mw_heap_t *heap, mw_page_t *page, bool pushes) {
	atomic_store_explicit(&page->heap, heap, memory_order_relaxed);
	bool tiny = page->size_class < MW_TINY_CLASSES;
	bool fast = mw_harden_has_fast_paths() && (tiny || pushes);
	uintptr_t owner = tiny || !MW_HARDEN_ON ? heap->owner : heap->owner | MW_OWNER_ABOVE_TINY;
	mw_entry_t *entry = mw_page_entry(page);
	entry->list = tiny ? &page->list : mw_tcache_of(page->size_class);
	if (!tiny)
		mw_harden_start_tcache(entry->list, page->block_bytes);
	atomic_store_explicit(&entry->owner, fast ? owner : MW_OWNER_DIVERT, memory_order_relaxed);
}

void mw_heap_page_claim(mw_heap_t *heap, mw_page_t *page) {
	claim(heap, page, mw_thread.quick_heap != NULL);
}

void mw_heap_pages_claim(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		for (mw_page_t *page = heap->queues[c].first; page; page = page->next)
			claim(heap, page, true);
}

void mw_heap_pages_divert(mw_heap_t *heap, unsigned from_class) {
	for (unsigned c = from_class; c < MW_CLASS_COUNT; c++)
		for (mw_page_t *page = heap->queues[c].first; page; page = page->next)
			mw_page_divert(page);
}

void mw_heap_count_page(mw_heap_t *heap, mw_page_t *page) {
	mw_heap_t *last = atomic_load_explicit(&page->last_heap, memory_order_relaxed);
	if (last == heap)
		return;
	if (last)
		atomic_fetch_sub_explicit(&last->pages, 1, memory_order_relaxed);
	atomic_store_explicit(&page->last_heap, heap, memory_order_relaxed);
	if (!heap)
		return;
	uint32_t pages = atomic_fetch_add_explicit(&heap->pages, 1, memory_order_relaxed) + 1;
	if (heap->pages_most < pages)
		heap->pages_most = pages;
}

_Noreturn void mw_heap_page_corrupt(const mw_page_t *page) {
	mw_fatal("corrupt list of freed blocks in a page of size class %u at %p: written to after "
		 "free, or freed twice",
		 page->block_bytes, (void *)page->start);
}

/* Returns block number `count` (>= 1) of a list, and checks each block up to it. */
static void *walk(const mw_page_t *page, void *list, uint32_t count) {
	for (;;) {
		if (!mw_page_holds(page, list))
			mw_heap_page_corrupt(page);
		if (--count == 0)
			return list;
		list = mw_link_get(list);
	}
}

/* Returns the last block of a list of `count`.  The count bounds the walk, which catches a list
 * that a stray write made longer, shorter or cyclic, or that leads out of the page. */
static void *last_of(const mw_page_t *page, void *list, uint32_t count) {
	void *last = walk(page, list, count);
	if (mw_link_get(last))
		mw_heap_page_corrupt(page);
	return last;
}

void *mw_heap_page_cut(const mw_page_t *page, void **list, uint32_t keep) {
	void *rest = *list;
	if (keep == 0) {
		*list = NULL;
		return rest;
	}
	void *last = walk(page, *list, keep);
	rest = mw_link_get(last);
	mw_link_set(last, NULL);
	return rest;
}

void mw_heap_page_put_back(mw_page_t *page, void *list, uint32_t count) {
	if (count == 0)
		return;
	if (count > page->used)
		mw_heap_page_corrupt(page);
	/* Only a list that comes before another is walked: each block would be a cache miss. */
	if (page->free)
		mw_link_set(last_of(page, list, count), page->free);
	page->free = list;
	page->used -= count;
}

void mw_heap_page_collect(mw_page_t *page) {
	uint32_t count;
	void *list = mw_remote_take(page, &count);
	mw_heap_page_put_back(page, list, count);
}

/* Gets memory from the kernel for blocks up to number `end`, which are about to be linked in a page
 * whose memory is fresh. */
static void populate(const mw_heap_t *heap, const mw_page_t *page, uint32_t end) {
	size_t step = mw_heap_pages(heap) < POPULATE_ALL_PAGES ? POPULATE_BYTES : MW_SLICE_BYTES;
	size_t here = mw_round_up((size_t)page->carved * page->block_bytes, step);
	size_t there = mw_round_up((size_t)end * page->block_bytes, step);
	if (there > here)
		mw_os_prefault(page->start + here, there - here);
}

/* Fresh memory pays for copies of blocks that change their size (heap/core/resize.h). */
static void save_for_copies(size_t fresh_bytes) {
	size_t bytes = mw_thread.copy_bytes + fresh_bytes;
	mw_thread.copy_bytes =
		bytes < MW_COPY_SAVED_MAX_BYTES ? (uint32_t)bytes : MW_COPY_SAVED_MAX_BYTES;
}

/* Links fresh blocks before those that are free already.  Returns how many. */
static uint32_t carve(mw_heap_t *heap, mw_page_t *page) {
	if (MW_UNLIKELY(page->holes != 0)) {
		uint32_t linked = mw_holes_link(heap, page);
		save_for_copies((size_t)linked * page->block_bytes);
		if (linked > 0)
			return linked;
	}
	uint32_t room = page->capacity - page->carved;
	uint32_t count = CARVE_BYTES / page->block_bytes;
	if (count == 0)
		count = 1;
	if (count > room)
		count = room;
	if (MW_UNLIKELY(mw_heap_pages(heap) >= POPULATE_PAGES) && page->zeroed &&
	    page->block_bytes <= POPULATE_BLOCK_BYTES && !mw_page_is_in_huge_page(page))
		populate(heap, page, page->carved + count);
	if (count > 0)
		page->free = mw_harden_carve(page, page->carved, count, page->free);
	page->carved += count;
	if (mw_page_run(page)->zeroed)
		save_for_copies((size_t)count * page->block_bytes);
	return count;
}

uint32_t mw_heap_page_prepare(mw_heap_t *heap, mw_page_t *page) {
	if (page->is_retained) {
		page->is_retained = false;
		heap->retained--;
	}
	if (!page->free)
		mw_heap_page_collect(page);
	uint32_t count = page->carved - page->used, fresh = 0;
	if (count == 0 || (count < MW_LIST_BLOCKS && page->size_class < MW_TINY_CLASSES &&
			   page->carved * page->block_bytes < MW_LIST_BYTES))
		fresh = carve(heap, page);
	MW_ASSERT(page->free || mw_harden_aged(page));
	return fresh;
}

bool mw_heap_page_has_room(const mw_page_t *page) {
	return page->free || mw_harden_aged(page) || page->carved < page->capacity;
}
