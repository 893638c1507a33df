/* SPDX-License-Identifier: MIT
 * refill.c -- the page that a refill takes blocks from: queued, abandoned by a thread, or new. */
#include "heap/core/refill.h"

#include <string.h>

#include "heap/layout/counters.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/size_class.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"
#include "heap/memory/chunk.h"
#include "heap/memory/limit.h"
#include "heap/remote/abandoned.h"
#include "heap/remote/ownership.h"
#include "heap/sample/sampling.h"
#include "heap/thread/flush.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"

/* A growing heap looks for pages to release whenever it has grown by this part: each search reads
 * every block of the lists of tiny classes. */
#define RELEASE_PART 4u
/* A heap that stays at its peak looks for pages to release once in so many searches: the pages it
 * finds would otherwise be the ones it takes next. */
#define RELEASE_FINDS 64u

/* Sets up the page of slice number `i` of a run. */
static void init_page(mw_page_t *run, unsigned i, unsigned size_class) {
	mw_page_t *page = run + i;
	uint32_t block_bytes = mw_class_bytes[size_class];
	size_t slice_start = i * MW_SLICE_BYTES, over = slice_start % block_bytes;
	size_t lead_bytes = over ? block_bytes - over : 0;
	size_t span_bytes = MW_SLICE_BYTES - lead_bytes;
	if (i > 0) {
		memset(page, 0, sizeof *page);
		page->slice_count = 1;
	}
	page->start = run->start + slice_start + lead_bytes;
	/* Within a run the last block may end in the next slice. */
	page->capacity =
		(uint32_t)(run->slice_count == 1 ? span_bytes / block_bytes
						 : (span_bytes + block_bytes - 1) / block_bytes);
	page->block_bytes = block_bytes;
	page->size_class = (uint8_t)size_class;
	page->first_slice = (uint8_t)mw_page_slice_index(run);
	page->kind = MW_PAGE_SMALL;
	page->state = MW_PAGE_QUEUED;
	mw_page_set_class_byte(page, size_class < MW_TINY_CLASSES ? (uint8_t)(size_class + 1) : 0);
	atomic_store_explicit(&page->last_heap, NULL, memory_order_relaxed);
	mw_harden_start_page(page);
}

static mw_page_t *make_run(mw_heap_t *heap, unsigned size_class) {
	unsigned slices = mw_class_run_slices[size_class];
	mw_page_t *run = mw_chunk_take(slices, 1);
	if (!run)
		return NULL;
	for (unsigned i = slices; i-- > 0;) {
		init_page(run, i, size_class);
		mw_heap_count_page(heap, &run[i]);
		mw_heap_page_claim(heap, &run[i]);
		mw_queue_prepend(&heap->queues[size_class], &run[i]);
	}
	mw_counters_add(&mw_counters.pages[size_class], slices);
	mw_sampling_grew(heap, mw_heap_in_use_bytes());
	return run;
}

static bool has_blocks(mw_page_t *page) {
	if (mw_heap_page_has_room(page))
		return true;
	mw_heap_page_collect(page);
	return page->free != NULL;
}

static void release_at_peak(mw_heap_t *heap) {
	uint32_t pages = mw_heap_pages(heap);
	if (pages < heap->pages_most)
		return;
	if (pages <= heap->released_at_pages + heap->released_at_pages / RELEASE_PART &&
	    heap->finds < RELEASE_FINDS)
		return;
	heap->released_at_pages = pages;
	heap->finds = 0;
	mw_heap_release_unused(heap);
}

/* Returns whether the first page of the queue has blocks for a refill.  A full one leaves the
 * queue.  In the hardened library a page with few free blocks goes behind the others, where it
 * gathers more. */
static bool first_is_ready(mw_heap_t *heap, mw_page_queue_t *queue) {
	mw_page_t *page = queue->first;
	if (!has_blocks(page) && mw_heap_page_abandon_full(heap, page))
		return false;
	if (mw_harden_is_short(page))
		mw_heap_page_collect(page);
	if (MW_LIKELY(!mw_harden_is_short(page)))
		return true;
	mw_queue_remove(queue, page);
	mw_queue_append(queue, page);
	return false;
}

/* Moves pages until the first of the queue is ready; false: none is. */
static bool find_queued(mw_heap_t *heap, mw_page_queue_t *queue) {
	/* Each page comes to the front once. */
	for (const mw_page_t *last = queue->last, *page; (page = queue->first) != NULL;) {
		if (first_is_ready(heap, queue))
			return true;
		if (page == last)
			break;
	}
	return false;
}

/* Takes pages of other threads until one is ready, at the front of the queue; false: none is. */
static bool find_abandoned(mw_heap_t *heap, mw_page_queue_t *queue, unsigned size_class) {
	mw_page_t *page;
	while ((page = mw_abandoned_take(size_class)) != NULL) {
		mw_heap_page_own(heap, page);
		mw_queue_prepend(queue, page);
		if (first_is_ready(heap, queue))
			return true;
		/* The page stayed behind the others, because it has few blocks.  The following
		 * pages may have few blocks, too. */
		if (queue->last == page)
			return false;
	}
	return false;
}

mw_page_t *mw_heap_page_find(mw_heap_t *heap, unsigned size_class) {
	heap->finds++;
	mw_page_queue_t *queue = &heap->queues[size_class];
	if (find_queued(heap, queue))
		return queue->first;
	mw_cached_heaps_maintain();
	if (find_abandoned(heap, queue, size_class))
		return queue->first;
	/* More memory is needed. */
	release_at_peak(heap);
	mw_page_t *page = make_run(heap, size_class);
	/* If there is no memory, a page with few blocks must do. */
	return page ? page : queue->first;
}
