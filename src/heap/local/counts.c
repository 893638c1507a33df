/* SPDX-License-Identifier: MIT
 * counts.c -- bytes allocated and freed, from what the slow paths count.
 *
 * No fast path counts.  The blocks that a refill put into a tcache list were allocated, but
 * for those still in the list; above tiny the countdown to the next sample tells.  The blocks of a
 * thread's pages that are not in use were freed. */
#include "heap/local/counts.h"

#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/remote_word.h"
#include "heap/layout/size_class.h"
#include "heap/local/heap.h"
#include "heap/local/tcache.h"

uint64_t mw_heap_tiny_tcache_bytes(void) {
	uint64_t bytes = 0;
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++)
		bytes += (uint64_t)mw_tcache_count(c) * mw_class_bytes[c];
	return bytes;
}

static uint64_t in_tcache_bytes(const mw_heap_t *heap) {
	uint64_t bytes = 0;
	for (unsigned c = MW_TINY_CLASSES; c < MW_CLASS_COUNT; c++)
		bytes += (uint64_t)mw_tcache_length(heap, c) * mw_class_bytes[c];
	return bytes;
}

static uint64_t blocks_made(const mw_heap_t *heap, unsigned size_class) {
	if (size_class < MW_TINY_CLASSES)
		return heap->counts.given[size_class];
	unsigned c = size_class - MW_TINY_CLASSES;
	return heap->counts.objects[c] - mw_thread.until_sample[c];
}

void mw_heap_counts_given(mw_heap_t *heap, unsigned size_class) {
	unsigned c = size_class - MW_TINY_CLASSES;
	heap->counts.given[size_class] = heap->counts.objects[c] - mw_thread.until_sample[c] +
					 mw_tcache_length(heap, size_class);
}

static uint64_t used_bytes(const mw_page_queue_t *queue) {
	uint64_t bytes = 0;
	for (const mw_page_t *page = queue->first; page; page = page->next) {
		/* Blocks that other threads free meanwhile count the next time. */
		uint64_t remote = mw_remote_count(mw_remote_word(page));
		bytes += (page->used - remote) * page->block_bytes;
	}
	return bytes;
}

/* Sums since the heap was made, modulo 2^64: the heap's threads may have freed more than they made,
 * and lists and reclaimed pages may hold blocks that other threads made. */
static void all_bytes(const mw_heap_t *heap, uint64_t tiny_heads_bytes, uint64_t *allocated_bytes,
		      uint64_t *freed_bytes) {
	const mw_heap_counts_t *counts = &heap->counts;
	uint64_t small = 0, live = counts->departed_bytes + counts->sampled_bytes -
				   counts->sampled_freed_bytes - tiny_heads_bytes -
				   in_tcache_bytes(heap);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		small += blocks_made(heap, c) * mw_class_bytes[c];
		live += used_bytes(&heap->queues[c]);
	}
	small -= tiny_heads_bytes;
	/* Blocks of inherited lists count as given and used from the time at which they came into
	 * the former thread's list: those that this thread took are added to both sums. */
	*allocated_bytes = small + counts->inherited_bytes + counts->large_bytes;
	*freed_bytes = small - live + counts->large_freed_bytes;
}

void mw_heap_counts_begin(mw_heap_t *heap) {
	heap->counter_wanted = heap->peak_wanted = false;
	all_bytes(heap, 0, &heap->start_allocated_bytes, &heap->start_freed_bytes);
}

void mw_heap_thread_bytes(uint64_t *allocated_bytes, uint64_t *freed_bytes) {
	*allocated_bytes = *freed_bytes = 0;
	mw_heap_t *heap = mw_thread.heap;
	if (!heap)
		return;
	all_bytes(heap, mw_heap_tiny_tcache_bytes(), allocated_bytes, freed_bytes);
	*allocated_bytes -= heap->start_allocated_bytes;
	*freed_bytes -= heap->start_freed_bytes;
	if (mw_heap_counts_frees(heap))
		*freed_bytes = heap->counts.freed_bytes;
	else if ((int64_t)*freed_bytes < 0)
		*freed_bytes = 0;
}

static MW_COLD uint64_t given_bytes(const mw_heap_t *heap) {
	uint64_t bytes = heap->counts.large_bytes + heap->counts.inherited_bytes;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		bytes += blocks_made(heap, c) * mw_class_bytes[c];
	return bytes;
}

uint64_t mw_heap_thread_given_bytes(void) {
	const mw_heap_t *heap = mw_thread.heap;
	return heap ? given_bytes(heap) - heap->start_allocated_bytes : 0;
}

/* Blocks in the tcache lists are not in use. */
uint64_t mw_heap_counts_live_bytes(const mw_heap_t *heap) {
	uint64_t used = heap->counts.given_bytes - heap->counts.freed_bytes,
		 waiting = mw_heap_tiny_tcache_bytes() + in_tcache_bytes(heap);
	return (int64_t)used > (int64_t)waiting ? used - waiting : 0;
}

void mw_heap_counts_show_slow(mw_heap_t *heap) {
	heap->counts.given_bytes = mw_heap_thread_given_bytes();
	if (heap->peak_wanted) {
		uint64_t live = mw_heap_counts_live_bytes(heap);
		if (live > heap->peak_bytes)
			heap->peak_bytes = live;
	}
	/* As if a tool had sent a request: the next refill takes the longer path, which comes here.
	 */
	heap->poll_seen--;
}
