/* SPDX-License-Identifier: MIT
 * shed.c -- a heap gives up pages: those that it does not keep while it is cached, or all. */
#include "heap/thread/shed.h"

#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/size_class.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"
#include "heap/local/tcache.h"
#include "heap/remote/abandoned.h"
#include "heap/thread/binding.h"
#include "heap/thread/cached_heap.h"
#include "heap/thread/flush.h"

static void give_up(mw_heap_t *heap, mw_page_t *page) {
	mw_queue_remove(&heap->queues[page->size_class], page);
	heap->retained -= page->is_retained;
	page->is_retained = false;
	mw_heap_count_page(NULL, page);
	mw_abandoned_add(page);
}

static size_t queued_bytes(const mw_heap_t *heap, unsigned size_class) {
	size_t bytes = 0;
	for (const mw_page_t *page = heap->queues[size_class].first; page; page = page->next)
		bytes += mw_page_touched_bytes(page);
	return bytes;
}

static size_t all_bytes(const mw_heap_t *heap) {
	size_t bytes = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		bytes += queued_bytes(heap, c);
	return bytes;
}

void mw_heap_flush_tcache(mw_heap_t *heap) {
	for (unsigned c = MW_TINY_CLASSES; c < MW_CLASS_COUNT; c++)
		if (*mw_tcache_first(c))
			mw_heap_head_flush(heap, c);
}

size_t mw_heap_shed(mw_heap_t *heap) {
	size_t bytes = all_bytes(heap);
	if (bytes <= MW_CACHED_HEAP_BYTES)
		return bytes;
	/* The lists above tiny may hold blocks of any page: those go back first.  Else the next
	 * thread would get blocks of pages that are not the heap's.  A list of a tiny class is of
	 * the first page, or of other threads' pages. */
	mw_heap_flush_tcache(heap);
	bytes = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		if (heap->queues[c].first)
			bytes += mw_page_touched_bytes(heap->queues[c].first);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_page_t *page = heap->queues[c].first, *next = page ? page->next : NULL;
		while ((page = next) != NULL) {
			next = page->next;
			if (bytes + mw_page_touched_bytes(page) <= MW_CACHED_HEAP_BYTES)
				bytes += mw_page_touched_bytes(page);
			else
				give_up(heap, page);
		}
	}
	return bytes;
}

void mw_heap_abandon_all(mw_heap_t *heap) {
	mw_heap_flush_lists(heap);
	heap->pages_most = heap->released_at_pages = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		for (mw_page_t *page; (page = heap->queues[c].first) != NULL;)
			give_up(heap, page);
	}
	if (heap->arena)
		mw_arena_bind(NULL);
}
