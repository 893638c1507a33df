/* SPDX-License-Identifier: MIT
 * counts.c -- what was allocated and freed, from what the slow paths count.
 *
 * No fast path counts.  What a refill put into a list head was allocated, but for what is left of
 * it; above tiny the countdown to the next sample knows.  What is in use of a thread's pages was
 * not freed. */
#include <string.h>

#include "heap/fast.h"
#include "heap/heap.h"
#include "heap/remote.h"
#include "heap/tally.h"

mw_tally_t mw_tally;

static uint64_t in_heads_bytes(unsigned from, unsigned until) {
	uint64_t bytes = 0;
	for (unsigned c = from; c < until; c++)
		for (const void *block = mw_thread.heads[c]; block; block = mw_link_get(block))
			bytes += mw_class_bytes[c];
	return bytes;
}

static uint64_t blocks_made(const mw_heap_t *heap, unsigned size_class) {
	if (size_class < MW_TINY_CLASSES)
		return heap->counts.given[size_class];
	unsigned c = size_class - MW_TINY_CLASSES;
	return heap->counts.objects[c] - mw_thread.until_sample[c];
}

static uint64_t used_bytes(const mw_page_queue_t *queue) {
	uint64_t bytes = 0;
	for (const mw_page_t *page = queue->first; page; page = page->next) {
		uint64_t remote = mw_remote_count(
			/* Relaxed: what others free meanwhile counts at the next look. */
			atomic_load_explicit(&page->remote, memory_order_relaxed));
		bytes += (page->used - remote) * page->block_bytes;
	}
	return bytes;
}

void mw_heap_thread_bytes(uint64_t *allocated_bytes, uint64_t *freed_bytes) {
	*allocated_bytes = *freed_bytes = 0;
	mw_heap_t *heap = mw_thread.heap;
	if (!heap)
		return;
	mw_heap_counts_t *counts = &heap->counts;
	uint64_t allocated = counts->large_bytes - in_heads_bytes(0, MW_TINY_CLASSES);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		allocated += blocks_made(heap, c) * mw_class_bytes[c];
	uint64_t live = used_bytes(&heap->full) - in_heads_bytes(0, MW_CLASS_COUNT) +
			counts->sampled_bytes - counts->sampled_freed_bytes;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		live += used_bytes(&heap->queues[c]);
	uint64_t small = allocated - counts->large_bytes;
	/* Heads and adopted pages may hold blocks that others made. */
	uint64_t freed = (int64_t)live < 0 ? small : small > live ? small - live : 0;
	*allocated_bytes = allocated - heap->start_allocated_bytes;
	freed += counts->large_freed_bytes;
	*freed_bytes = freed > heap->start_freed_bytes ? freed - heap->start_freed_bytes : 0;
	if (counts->freed_bytes < freed)
		counts->freed_bytes = freed;
}

static MW_COLD uint64_t given_bytes(const mw_heap_t *heap) {
	uint64_t bytes = heap->counts.large_bytes;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		bytes += blocks_made(heap, c) * mw_class_bytes[c];
	return bytes;
}

uint64_t mw_heap_thread_given_bytes(void) {
	const mw_heap_t *heap = mw_thread.heap;
	return heap ? given_bytes(heap) - heap->start_allocated_bytes : 0;
}

void mw_heap_counts_show_slow(mw_heap_t *heap) {
	heap->counts.given_bytes = given_bytes(heap);
	/* As if there were orders to notice: the next refill takes the longer way, which comes
	 * here. */
	heap->poll_seen--;
	/* Walking costs a cache line a page: so seldom that it is a line a refill. */
	if (++heap->refills_unseen < heap->pages)
		return;
	heap->refills_unseen = 0;
	uint64_t unused;
	mw_heap_thread_bytes(&unused, &unused);
}

const uint64_t *mw_heap_thread_counter(bool freed) {
	mw_heap_t *heap = mw_heap_self();
	if (!heap)
		return NULL;
	uint64_t unused;
	mw_heap_thread_bytes(&unused, &unused);
	/* With empty heads and countdowns to be drawn the next malloc takes the slow path. */
	mw_heap_take_rate();
	memset(heap->left, 0, sizeof heap->left);
	heap->counter_wanted = true;
	mw_heap_counts_show_slow(heap);
	return freed ? &heap->counts.freed_bytes : &heap->counts.given_bytes;
}
