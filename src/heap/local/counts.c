/* SPDX-License-Identifier: MIT
 * counts.c -- what was allocated and freed, from what the slow paths count.
 *
 * No fast path counts.  What a refill put into a list head was allocated, but for what is left of
 * it; above tiny the countdown to the next sample knows.  What is in use of a thread's pages was
 * not freed. */
#include <string.h>

#include "heap/core/fast.h"
#include "heap/core/heap.h"
#include "heap/core/heap_page.h"
#include "heap/layout/counters.h"
#include "heap/layout/remote_word.h"
#include "heap/local/head.h"
#include "heap/memory/chunk.h"

uint64_t mw_heap_tiny_heads_bytes(void) {
	uint64_t bytes = 0;
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++)
		bytes += (uint64_t)mw_heap_head_count(c) * mw_class_bytes[c];
	return bytes;
}

static uint64_t in_stacks_bytes(const mw_heap_t *heap) {
	uint64_t bytes = 0;
	for (unsigned c = MW_TINY_CLASSES; c < MW_CLASS_COUNT; c++)
		bytes += (uint64_t)mw_head_length(heap, c) * mw_class_bytes[c];
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
					 mw_head_length(heap, size_class);
}

static uint64_t used_bytes(const mw_page_queue_t *queue) {
	uint64_t bytes = 0;
	for (const mw_page_t *page = queue->first; page; page = page->next) {
		/* What others free meanwhile counts at the next look. */
		uint64_t remote = mw_remote_count(mw_remote_word(page));
		bytes += (page->used - remote) * page->block_bytes;
	}
	return bytes;
}

static bool frees_are_counted(const mw_heap_t *heap) {
	return heap->owner == MW_OWNER_DIVERT;
}

/* Since the heap was made, modulo 2^64: what its threads freed may be more than what they made, and
 * heads and reclaimed pages may hold blocks that others made. */
static void all_bytes(const mw_heap_t *heap, uint64_t tiny_heads_bytes, uint64_t *allocated_bytes,
		      uint64_t *freed_bytes) {
	const mw_heap_counts_t *counts = &heap->counts;
	uint64_t small = 0, live = counts->left_bytes + counts->sampled_bytes -
				   counts->sampled_freed_bytes - tiny_heads_bytes -
				   in_stacks_bytes(heap);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		small += blocks_made(heap, c) * mw_class_bytes[c];
		live += used_bytes(&heap->queues[c]);
	}
	small -= tiny_heads_bytes;
	*allocated_bytes = small + counts->large_bytes;
	*freed_bytes = small - live + counts->large_freed_bytes;
}

void mw_heap_counts_begin(mw_heap_t *heap, uint64_t tiny_heads_bytes) {
	heap->counter_wanted = heap->peak_wanted = false;
	all_bytes(heap, tiny_heads_bytes, &heap->start_allocated_bytes, &heap->start_freed_bytes);
}

void mw_heap_thread_bytes(uint64_t *allocated_bytes, uint64_t *freed_bytes) {
	*allocated_bytes = *freed_bytes = 0;
	mw_heap_t *heap = mw_thread.heap;
	if (!heap)
		return;
	all_bytes(heap, mw_heap_tiny_heads_bytes(), allocated_bytes, freed_bytes);
	*allocated_bytes -= heap->start_allocated_bytes;
	*freed_bytes -= heap->start_freed_bytes;
	if (frees_are_counted(heap))
		*freed_bytes = heap->counts.freed_bytes;
	else if ((int64_t)*freed_bytes < 0)
		*freed_bytes = 0;
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

/* Of a thread whose frees are counted.  What waits in its list heads is not in use. */
static uint64_t live_bytes(const mw_heap_t *heap) {
	uint64_t used = heap->counts.given_bytes - heap->counts.freed_bytes,
		 waiting = mw_heap_tiny_heads_bytes() + in_stacks_bytes(heap);
	return (int64_t)used > (int64_t)waiting ? used - waiting : 0;
}

void mw_heap_counts_show_slow(mw_heap_t *heap) {
	heap->counts.given_bytes = mw_heap_thread_given_bytes();
	if (heap->peak_wanted) {
		uint64_t live = live_bytes(heap);
		if (live > heap->peak_bytes)
			heap->peak_bytes = live;
	}
	/* As if there were orders to notice: the next refill takes the longer way, which comes
	 * here. */
	heap->poll_seen--;
}

/* Full pages above tiny, which are in no list, keep the owner word of the thread that had them last
 * (heap/remote/abandoned.c). */
static MW_COLD void divert_full_pages(void) {
	for (const mw_chunk_t *chunk = mw_chunk_newest(); chunk; chunk = chunk->all_next) {
		for (unsigned slice = 1; slice < MW_CHUNK_SLICES; slice++) {
			mw_entry_t *entry = mw_page_entry(mw_chunk_page(chunk, slice));
			uintptr_t owner = (uintptr_t)__builtin_thread_pointer();
			/* Another thread may be taking the page. */
			atomic_compare_exchange_strong_explicit(
				&entry->owner, &owner, MW_OWNER_DIVERT, memory_order_relaxed,
				memory_order_relaxed);
		}
	}
}

static MW_COLD void count_frees(mw_heap_t *heap) {
	uint64_t allocated_bytes, freed_bytes;
	mw_heap_thread_bytes(&allocated_bytes, &freed_bytes);
	heap->counts.freed_bytes = freed_bytes;
	heap->owner = MW_OWNER_DIVERT;
	mw_heap_pages_divert(heap, 0);
}

const uint64_t *mw_heap_thread_counter(bool freed) {
	mw_heap_t *heap = mw_heap_self();
	if (!heap)
		return NULL;
	if (mw_thread.quick_heap) {
		mw_thread_set_quick_heap(NULL);
		mw_heap_pages_divert(heap, MW_TINY_CLASSES);
		divert_full_pages();
	}
	if (freed) {
		if (!frees_are_counted(heap))
			count_frees(heap);
		return &heap->counts.freed_bytes;
	}
	/* With empty heads and countdowns to be drawn the next malloc takes the slow path. */
	mw_heap_take_rate();
	memset(heap->left, 0, sizeof heap->left);
	heap->counter_wanted = true;
	mw_heap_counts_show_slow(heap);
	return &heap->counts.given_bytes;
}

uint64_t mw_heap_thread_peak(bool begins) {
	mw_heap_t *heap = mw_heap_self();
	if (!heap || !mw_heap_thread_counter(true) || !mw_heap_thread_counter(false))
		return 0;
	uint64_t live = live_bytes(heap);
	if (!heap->peak_wanted || begins || live > heap->peak_bytes)
		heap->peak_bytes = live;
	heap->peak_wanted = true;
	return heap->peak_bytes;
}
