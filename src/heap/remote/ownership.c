/* SPDX-License-Identifier: MIT
 * ownership.c -- a heap gets pages, gives up full ones, and returns pages without a block. */
#include "heap/remote/ownership.h"

#include "base/check.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/remote_word.h"
#include "heap/layout/size_class.h"
#include "heap/layout/slices.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"
#include "heap/memory/chunk.h"
#include "heap/remote/abandoned.h"
#include "os/platform/single.h"

/* Most pages without a block that a heap keeps, beside the last one of each class: large blocks,
 * few to a page, would otherwise take and return slices all the time, under a lock. */
#define RETAINED_MAX 4u
#define RETAINED_BLOCK_BYTES 4096u
_Static_assert(RETAINED_BLOCK_BYTES > MW_TINY_MAX_BYTES, "as first_at_once() in refill.c has it");

/* Slices that a heap reserves with a page, where several threads run: to take a slice moves some 20
 * cache lines from other processors.  A heap with few pages may need no more: it reserves at most
 * one slice for two pages.  The memory of a slice comes with its blocks, not before. */
#define RESERVED_MAX 7u
#define RESERVED_PART 2u

static unsigned wanted_reserve(const mw_heap_t *heap) {
	unsigned wanted = mw_heap_pages(heap) / RESERVED_PART;
	if (mw_os_is_single_threaded() || heap->reserved_slices > 0)
		return 0;
	return wanted < RESERVED_MAX ? wanted : RESERVED_MAX;
}

static mw_page_t *take_reserved(mw_heap_t *heap) {
	mw_page_t *page = heap->reserved++;
	heap->reserved_slices--;
	return mw_slices_init_page(mw_chunk_of(page), mw_page_slice_index(page), 1, true);
}

mw_page_t *mw_heap_take_slices(mw_heap_t *heap, unsigned slices, bool *reserved) {
	*reserved = false;
	if (slices > 1)
		return mw_chunk_take(slices, 1);
	mw_page_t *page = NULL;
	if (heap->reserved_slices == 0 || mw_chunk_keeps_memory()) {
		unsigned more = wanted_reserve(heap);
		page = mw_chunk_take_more(&more);
		if (more > 0) {
			heap->reserved = page + 1;
			heap->reserved_slices = more;
		}
	}
	*reserved = !page && heap->reserved_slices > 0;
	return *reserved ? take_reserved(heap) : page;
}

void mw_heap_give_reserved(mw_heap_t *heap) {
	if (heap->reserved_slices > 0)
		mw_chunk_give_reserved(heap->reserved, heap->reserved_slices);
	heap->reserved_slices = 0;
}

void mw_heap_page_own(mw_heap_t *heap, mw_page_t *page) {
	page->state = MW_PAGE_QUEUED;
	heap->counts.departed_bytes -= (uint64_t)page->used_at_abandon * page->block_bytes;
	mw_heap_page_claim(heap, page);
	if (atomic_load_explicit(&page->last_heap, memory_order_relaxed) != heap)
		heap->counts.reclaimed[page->size_class]++;
	mw_heap_count_page(heap, page);
}

bool mw_heap_page_abandon_full(mw_heap_t *heap, mw_page_t *page) {
	mw_page_queue_t *queue = &heap->queues[page->size_class];
	mw_queue_remove(queue, page);
	heap->counts.departed_bytes += (uint64_t)page->used * page->block_bytes;
	if (mw_abandoned_abandon_full(page))
		return true;
	page->used_at_abandon = page->used;
	mw_heap_page_own(heap, page);
	mw_queue_prepend(queue, page);
	return false;
}

void mw_heap_page_put(mw_page_t *page, void *block) {
	mw_link_set(block, page->free);
	page->free = block;
	page->used--;
	if (page->used == 0)
		mw_heap_page_emptied(page);
}

void mw_heap_page_reclaim(mw_heap_t *heap, mw_page_t *page, void *list, uint32_t count) {
	mw_heap_page_own(heap, page);
	mw_queue_append(&heap->queues[page->size_class], page);
	mw_heap_page_put_back(page, list, count);
	if (page->used == 0)
		mw_heap_page_emptied(page);
}

void mw_heap_page_release(mw_heap_t *heap, mw_page_t *page) {
	/* No block is in use, so no thread can push one. */
	MW_ASSERT(page->used == 0 && mw_remote_word(page) == 0);
	mw_queue_remove(&heap->queues[page->size_class], page);
	heap->retained -= page->is_retained;
	mw_abandoned_give(page);
}

void mw_heap_page_emptied(mw_page_t *page) {
	mw_heap_t *heap = mw_thread.heap;
	/* In the child of a fork a new thread may have the thread pointer of one that is gone. */
	if (atomic_load_explicit(&page->heap, memory_order_relaxed) != heap)
		return;
	mw_page_queue_t *queue = &heap->queues[page->size_class];
	/* The last page of a class stays: a loop of malloc and free would take and return it each
	 * time. */
	if (page->state != MW_PAGE_QUEUED || queue->first == queue->last)
		return;
	if (page->block_bytes >= RETAINED_BLOCK_BYTES && heap->retained < RETAINED_MAX) {
		page->is_retained = true;
		heap->retained++;
		return;
	}
	mw_heap_page_release(heap, page);
}
