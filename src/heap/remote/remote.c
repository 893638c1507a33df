/* SPDX-License-Identifier: MIT
 * remote.c -- the remote-free cache of a thread, and the handling of pages that got blocks back. */
#include "heap/remote/remote.h"

#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/remote_word.h"
#include "heap/layout/size_class.h"
#include "heap/local/batch.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"
#include "heap/local/tcache.h"
#include "heap/misuse/misuse.h"
#include "heap/remote/abandoned.h"
#include "heap/remote/ownership.h"

#define BATCH_BYTES 2048u
#define BATCH_BLOCKS 32u

/* Pushes `count` linked blocks onto their page's delayed list.  `heap` is the calling thread's, or
 * NULL. */
static void send(mw_heap_t *heap, mw_page_t *page, void *first, void *last, uint32_t count) {
	mw_remote_pushed_t pushed = mw_remote_push(page, first, last, count);
	if (MW_LIKELY(pushed == MW_REMOTE_SENT))
		return;
	if (pushed == MW_REMOTE_ENDED) {
		if (heap)
			heap->counts.departed_bytes -=
				(uint64_t)page->used_at_abandon * page->block_bytes;
		mw_abandoned_end(page);
	} else if (heap && mw_remote_reclaims(heap, page)) {
		mw_heap_page_reclaim(heap, page, first, count);
	} else {
		if (heap)
			heap->counts.departed_bytes -= (uint64_t)count * page->block_bytes;
		mw_heap_page_put_back(page, first, count);
		mw_abandoned_add(page);
	}
}

static void send_batch(mw_heap_t *heap, mw_remote_batch_t *batch) {
	if (batch->place == 0)
		return;
	/* Blocks of a batch count as used, so the page is the one it was when the batch began. */
	mw_page_t *page = mw_remote_batch_page(batch);
	uint32_t room = batch->room < 0 ? 0 : (uint32_t)batch->room;
	void *first = batch->first, *last = batch->last;
	/* A leak check, which may stop the thread here, finds the list in the batch or in a
	 * register. */
	atomic_signal_fence(memory_order_release);
	batch->place = 0;
	send(heap, page, first, last, batch->limit - room);
}

static uint32_t limit_of(const mw_page_t *page) {
	uint32_t blocks = BATCH_BYTES / page->block_bytes;
	return blocks < BATCH_BLOCKS ? blocks : BATCH_BLOCKS;
}

/* Adds the block to the batch of its page.  If the page has none or it is full, the block begins a
 * new batch. */
static void add_to_batch(mw_heap_t *heap, mw_page_t *page, void *block) {
	uintptr_t place = mw_remote_place(page);
	mw_remote_batch_t *batch =
		&heap->remote.batches[mw_page_slice_index(page) % MW_REMOTE_BATCHES];
	if (batch->place == place) {
		if (MW_UNLIKELY(batch->first == block))
			mw_misuse_free_again(page, block);
		if (batch->room > 0) {
			batch->room--;
			mw_link_set(block, batch->first);
			batch->first = block;
			return;
		}
	}
	send_batch(heap, batch);
	uint32_t limit = limit_of(page);
	mw_link_set(block, NULL);
	*batch = (mw_remote_batch_t){place, block, block, (int32_t)limit - 1, limit};
}

/* The block of a tiny class went into no bin: looks for a double free, and whether the bin is full.
 */
static void look_at_bin(mw_heap_t *heap, const mw_page_t *page, const void *block) {
	const mw_remote_bin_t *bin = mw_remote_bin(heap, page->size_class);
	if (MW_UNLIKELY(bin->first == block))
		mw_misuse_free_again(page, block);
	if (bin->room == 0)
		heap->overflowed |= (uint64_t)1 << page->size_class;
}

void mw_remote_free(mw_heap_t *heap, mw_page_t *page, void *block) {
	uint64_t word = mw_remote_word(page);
	if (MW_UNLIKELY(mw_remote_list(word) == block))
		mw_misuse_free_again(page, block);
	if (heap && page->size_class < MW_TINY_CLASSES)
		look_at_bin(heap, page, block);
	bool reclaims = heap && mw_remote_is_full(word) && mw_remote_reclaims(heap, page);
	if (heap && !reclaims && page->block_bytes <= BATCH_BYTES / 2)
		add_to_batch(heap, page, block);
	else
		send(heap, page, block, block, 1);
}

void *mw_remote_take_bin(mw_heap_t *heap, unsigned size_class, uint32_t *count) {
	mw_remote_bin_t *bin = mw_remote_bin(heap, size_class);
	void *list = bin->first;
	*count = mw_remote_bin_length(heap, size_class);
	mw_remote_bin_start(heap, size_class);
	return list;
}

void mw_remote_flush_bin(mw_heap_t *heap, unsigned size_class) {
	uint32_t count;
	void *next, *block = mw_remote_take_bin(heap, size_class, &count);
	for (; block; block = next) {
		next = mw_link_get(block);
		mw_remote_free(heap, mw_page_of_slice((uintptr_t)block), block);
	}
}

void mw_remote_flush(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++)
		mw_remote_flush_bin(heap, c);
	for (unsigned i = 0; i < MW_REMOTE_BATCHES; i++)
		send_batch(heap, &heap->remote.batches[i]);
}
