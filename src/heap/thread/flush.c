/* SPDX-License-Identifier: MIT
 * flush.c -- blocks of a thread's lists return to their pages, and pages without a block to their
 * chunks. */
#include "heap/thread/flush.h"

#include <stdbool.h>

#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/size_class.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"
#include "heap/local/inherited.h"
#include "heap/local/tcache.h"
#include "heap/remote/ownership.h"
#include "heap/remote/remote.h"
#include "heap/sample/sampling.h"

/* In a heap with so many pages the lists of tiny classes and their last pages are a small part. */
#define TINY_FLUSH_PAGES 256u

/* Returns the blocks of a list to their pages; some may be of other threads' pages. */
static void put_back(mw_heap_t *heap, void *list) {
	while (list) {
		void *block = list;
		list = mw_link_get(block);
		mw_page_t *page = mw_page_of_slice((uintptr_t)block);
		if (atomic_load_explicit(&page->heap, memory_order_relaxed) == heap)
			mw_heap_page_put(page, block);
		else
			mw_remote_free(heap, page, block);
	}
}

void mw_heap_head_flush(mw_heap_t *heap, unsigned size_class) {
	void **head = mw_tcache_first(size_class), *list = *head, *inherited = NULL;
	uint32_t count = mw_tcache_count(size_class), inherited_count = 0;
	*head = NULL;
	mw_tcache_filled(heap, size_class, 0);
	if (size_class < MW_TINY_CLASSES) {
		inherited = mw_inherited_take_all(heap, size_class, &inherited_count);
		mw_remote_flush_bin(heap, size_class);
	}
	count += inherited_count;
	if (count == 0)
		return;
	heap->counts.flushes[size_class]++;
	heap->counts.given[size_class] -= count;
	put_back(heap, list);
	put_back(heap, inherited);
	if (size_class < MW_TINY_CLASSES)
		mw_sampling_dropped(heap, size_class, count);
}

void mw_heap_flush_lists(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		mw_heap_head_flush(heap, c);
	mw_remote_flush(heap);
}

MW_COLD void mw_heap_flush_thread(void) {
	if (mw_thread.heap)
		mw_heap_flush_lists(mw_thread.heap);
}

static bool has_list(const mw_heap_t *heap, unsigned size_class) {
	return *mw_tcache_first(size_class) ||
	       (size_class < MW_TINY_CLASSES && heap->inherited[size_class].first);
}

/* A class keeps its only page while no more of it was touched: the memory is little, and to take a
 * page moves some 20 cache lines from other processors.  Not in the hardened library, which checks
 * a page's free blocks when it gives the page back. */
#define KEPT_BYTES (16u << 10)

static bool is_kept(const mw_page_queue_t *queue) {
	const mw_page_t *page = queue->first;
	return !MW_HARDEN_ON && page && page == queue->last &&
	       mw_page_touched_bytes(page) <= KEPT_BYTES;
}

/* A heap that is about to be larger than ever calls this first, so that pages kept by blocks in
 * lists and batches, and the last page of each class if much of it was touched, do not add to its
 * peak.  The lists of tiny classes are long: they are emptied only where they are a small part of
 * the heap. */
void mw_heap_release_unused(mw_heap_t *heap) {
	mw_remote_flush(heap);
	unsigned first = mw_heap_pages(heap) < TINY_FLUSH_PAGES ? 0 : MW_TINY_CLASSES;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_page_queue_t *queue = &heap->queues[c];
		if (is_kept(queue))
			continue;
		if (c >= first && has_list(heap, c))
			mw_heap_head_flush(heap, c);
		while (queue->first && queue->first->used == 0)
			mw_heap_page_release(heap, queue->first);
	}
}

void mw_heap_release_pages(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_page_t *next;
		for (mw_page_t *page = heap->queues[c].first; page; page = next) {
			next = page->next;
			mw_heap_page_collect(page);
			if (page->used == 0)
				mw_heap_page_release(heap, page);
		}
	}
}
