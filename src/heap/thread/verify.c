/* SPDX-License-Identifier: MIT
 * verify.c -- invariants of a heap between two of its owner's operations. */
#include "heap/thread/verify.h"

#include <stdatomic.h>

#include "base/check.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/size_class.h"
#include "heap/local/batch.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/local/holes.h"
#include "heap/local/tcache.h"
#include "heap/memory/chunk.h"

/* Returns the length of a list of free blocks, all of which must be the page's. */
static uint32_t check_page_list(const mw_page_t *page, const void *list) {
	uint32_t count = 0;
	for (const void *block = list; block; block = mw_link_get(block)) {
		if (!mw_page_holds(page, block))
			mw_fatal("heap check: a list of size class %u leads to %p, which is not a "
				 "block of this class",
				 page->block_bytes, block);
		if (mw_holes_hold(page, block))
			mw_fatal("heap check: the list of page %p (size class %u) leads to %p, "
				 "whose memory was given back to the kernel",
				 (void *)page->start, page->block_bytes, block);
		if (++count > page->capacity)
			mw_fatal("heap check: the list of page %p (size class %u) has no end",
				 (void *)page->start, page->block_bytes);
	}
	return count;
}

/* A page's free lists must be as long as its counts say. */
static void check_free_lists(const mw_page_t *page) {
	uint32_t count = check_page_list(page, page->free);
	count += check_page_list(page, mw_harden_aged(page));
	if (page->used > page->carved || page->carved > page->capacity ||
	    count != page->carved - page->used)
		mw_fatal("heap check: page %p (size class %u) has %u free blocks, used %u, "
			 "carved %u, capacity %u",
			 (void *)page->start, page->block_bytes, count, page->used, page->carved,
			 page->capacity);
}

static void check_queue(const mw_heap_t *heap, unsigned size_class) {
	const mw_page_queue_t *queue = &heap->queues[size_class];
	const mw_page_t *previous = NULL;
	for (const mw_page_t *page = queue->first; page; page = page->next) {
		if (page->prev != previous || page->kind != MW_PAGE_SMALL ||
		    page->state != MW_PAGE_QUEUED || page->size_class != size_class ||
		    atomic_load_explicit(&page->heap, memory_order_relaxed) != heap)
			mw_fatal("heap check: page %p (size class %u) is in a queue of other pages",
				 (void *)page->start, page->block_bytes);
		check_free_lists(page);
		previous = page;
	}
	if (queue->last != previous)
		mw_fatal("heap check: a queue of pages does not end in its last page");
}

/* Returns the length of a list of free blocks of any thread's pages of the class. */
static uint32_t check_list(const void *list, unsigned size_class) {
	uint32_t count = 0;
	for (const void *block = list; block; block = mw_link_get(block)) {
		const mw_page_t *page = mw_word_kind((uintptr_t)block) == MW_MAP_CHUNK
						? mw_page_of_slice((uintptr_t)block)
						: NULL;
		if (!page || page->kind != MW_PAGE_SMALL || page->size_class != size_class ||
		    !mw_page_holds(page, block))
			mw_fatal("heap check: a list of size class %u leads to %p, which is not a "
				 "block of this class",
				 mw_class_bytes[size_class], block);
		if (++count > MW_SLICE_BYTES)
			mw_fatal("heap check: the list of size class %u has no end",
				 mw_class_bytes[size_class]);
	}
	return count;
}

static void check_tcache_list(const mw_heap_t *heap, unsigned size_class) {
	uint32_t count = check_list(*mw_tcache_first(size_class), size_class);
	if (size_class < MW_TINY_CLASSES)
		check_list(heap->inherited[size_class].first, size_class);
	if (size_class >= MW_TINY_CLASSES && count != mw_tcache_length(heap, size_class))
		mw_fatal("heap check: the list of size class %u has %u blocks, but its counter "
			 "says %d",
			 mw_class_bytes[size_class], count,
			 (int)mw_tcache_length(heap, size_class));
}

static void check_batch(const mw_remote_batch_t *batch) {
	if (batch->place == 0)
		return;
	const mw_page_t *page = mw_remote_batch_page(batch);
	uint32_t room = batch->room < 0 ? 0 : (uint32_t)batch->room;
	uint32_t count = check_page_list(page, batch->first);
	if (count != batch->limit - room)
		mw_fatal("heap check: the batch of page %p (size class %u) has %u blocks, but its "
			 "counter says %u",
			 (void *)page->start, page->block_bytes, count, batch->limit - room);
}

static void check_bin(const mw_heap_t *heap, unsigned size_class) {
	const mw_remote_bin_t *bin = &heap->remote.bins[1 + size_class];
	uint32_t count = check_list(bin->first, size_class);
	uint32_t counted = heap->tcache_limit[size_class] - (uint32_t)bin->room;
	if (count != counted)
		mw_fatal("heap check: the bin of other threads' blocks of size class %u has %u "
			 "blocks, but its counter says %u",
			 mw_class_bytes[size_class], count, counted);
}

void mw_heap_check(const mw_heap_t *heap) {
	for (unsigned i = 0; i < MW_REMOTE_BATCHES; i++)
		check_batch(&heap->remote.batches[i]);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		check_queue(heap, c);
		check_tcache_list(heap, c);
		if (c < MW_TINY_CLASSES)
			check_bin(heap, c);
	}
}

/* Relaxed: set at start-up, read by every thread. */
static _Atomic uint32_t interval = 4096;

void mw_verify_set_interval(uint32_t slow_paths) {
	atomic_store_explicit(&interval, slow_paths, memory_order_relaxed);
}

#ifdef MW_DEBUG
void mw_verify_tick(const mw_heap_t *heap) {
	static MW_TLS uint32_t passed;
	uint32_t wanted = atomic_load_explicit(&interval, memory_order_relaxed);
	if (wanted == 0 || ++passed < wanted)
		return;
	passed = 0;
	mw_heap_check(heap);
	mw_chunk_check();
}
#endif
