/* SPDX-License-Identifier: MIT
 * park.c -- what of a heap depends on its thread: list heads and owner words. */
#include "heap/park.h"

#include <stdatomic.h>
#include <string.h>

#include "heap/chunk.h"
#include "heap/head.h"
#include "heap/heap_page.h"
#include "os/numa.h"

mw_heap_t *mw_park_first;
_Atomic uint64_t mw_park_due_ns = UINT64_MAX;
static _Atomic size_t parked_bytes;

/* Bytes that blocks of the queue's pages ever lay in, beyond `bytes`; looks no further than the
 * limit. */
static size_t add_touched(size_t bytes, const mw_page_queue_t *queue) {
	for (const mw_page_t *page = queue->first; page && bytes <= MW_PARK_HEAP_BYTES;
	     page = page->next)
		bytes += (size_t)page->carved * page->block_bytes;
	return bytes;
}

static size_t touched_bytes(const mw_heap_t *heap) {
	size_t bytes = add_touched(0, &heap->full);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		bytes = add_touched(bytes, &heap->queues[c]);
	return bytes;
}

static bool set_aside(size_t bytes) {
	/* Relaxed: a bound, nothing hangs on the order. */
	size_t before = atomic_fetch_add_explicit(&parked_bytes, bytes, memory_order_relaxed);
	if (before + bytes <= MW_PARK_TOTAL_BYTES)
		return true;
	atomic_fetch_sub_explicit(&parked_bytes, bytes, memory_order_relaxed);
	return false;
}

bool mw_park_begin(mw_heap_t *heap) {
	if (heap->arena || heap->rate_taken)
		return false;
	size_t bytes = touched_bytes(heap);
	if (bytes == 0 || bytes > MW_PARK_HEAP_BYTES || !set_aside(bytes))
		return false;
	heap->parked.bytes = bytes;
	return true;
}

void mw_park_save(mw_heap_t *heap) {
	/* Looked at now: a list that this thread spoilt ends the program here. */
	heap->parked.tiny_heads_bytes = mw_heap_tiny_heads_bytes();
	heap->parked.node = mw_os_numa_here();
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		void **head = mw_head_of(c);
		heap->parked.heads[c] = *head;
		*head = NULL;
	}
	for (unsigned c = MW_TINY_CLASSES; c < MW_CLASS_COUNT; c++)
		heap->parked.lengths[c] = mw_head_length(heap, c);
	/* Another thread may get this one's thread pointer without getting its heap. */
	mw_heap_pages_divert(heap, 0);
}

/* Half as long as free slices are kept. */
static uint64_t due_of(const mw_heap_t *heap) {
	return heap->parked.since_ns + mw_chunk_decay_ns() / 2;
}

static void set_due(const mw_heap_t *oldest) {
	uint64_t due = oldest ? due_of(oldest) : UINT64_MAX;
	atomic_store_explicit(&mw_park_due_ns, due, memory_order_relaxed);
}

void mw_park_put(mw_heap_t *heap) {
	heap->parked.waits = true;
	heap->parked.since_ns = mw_os_monotonic_coarse_ns();
	if (!mw_park_first)
		set_due(heap);
	heap->next_free = mw_park_first;
	mw_park_first = heap;
}

static mw_heap_t *take(mw_heap_t **link) {
	mw_heap_t *heap = *link;
	*link = heap->next_free;
	heap->parked.waits = false;
	atomic_fetch_sub_explicit(&parked_bytes, heap->parked.bytes, memory_order_relaxed);
	return heap;
}

mw_heap_t *mw_park_take_slow(void) {
	mw_heap_t **link = &mw_park_first;
	unsigned node = mw_os_numa_here();
	while (*link && (*link)->parked.node != node)
		link = &(*link)->next_free;
	return *link ? take(link) : NULL;
}

mw_heap_t *mw_park_take_oldest(bool due_only) {
	/* The last came first. */
	mw_heap_t **link = &mw_park_first;
	while (*link && (*link)->next_free)
		link = &(*link)->next_free;
	if (*link && (!due_only || due_of(*link) <= mw_os_monotonic_coarse_ns()))
		return take(link);
	set_due(*link);
	return NULL;
}

void mw_park_resume(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		*mw_head_of(c) = heap->parked.heads[c];
		mw_head_filled(heap, c, heap->parked.lengths[c]);
	}
	mw_heap_pages_claim(heap);
}

void mw_park_fork_child(void) {
	size_t bytes = 0;
	for (const mw_heap_t *heap = mw_park_first; heap; heap = heap->next_free)
		bytes += heap->parked.bytes;
	atomic_store_explicit(&parked_bytes, bytes, memory_order_relaxed);
}
