/* SPDX-License-Identifier: MIT
 * shed.c -- a heap gives up the pages that it does not keep while it is cached. */
#include "heap/thread/shed.h"

#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/size_class.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"
#include "heap/remote/abandoned.h"
#include "heap/thread/cached_heap.h"

/* Bytes in which blocks of the page ever lay. */
static size_t touched_bytes(const mw_page_t *page) {
	return (size_t)page->carved * page->block_bytes;
}

static void give_up(mw_heap_t *heap, mw_page_t *page) {
	mw_queue_remove(&heap->queues[page->size_class], page);
	heap->retained -= page->is_retained;
	page->is_retained = false;
	mw_heap_count_page(NULL, page);
	mw_abandoned_add(page);
}

size_t mw_heap_shed(mw_heap_t *heap) {
	size_t bytes = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		if (heap->queues[c].first)
			bytes += touched_bytes(heap->queues[c].first);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_page_t *page = heap->queues[c].first, *next = page ? page->next : NULL;
		while ((page = next) != NULL) {
			next = page->next;
			if (bytes + touched_bytes(page) <= MW_CACHED_HEAP_BYTES)
				bytes += touched_bytes(page);
			else
				give_up(heap, page);
		}
	}
	return bytes;
}
