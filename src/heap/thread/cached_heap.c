/* SPDX-License-Identifier: MIT
 * cached_heap.c -- the end of a thread: its heap is cached, or taken apart. */
#include "heap/thread/cached_heap.h"

#include <string.h>

#include "heap/layout/page.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"
#include "heap/local/inherited.h"
#include "heap/memory/chunk.h"
#include "heap/thread/shed.h"
#include "os/memory/numa.h"

mw_heap_t *mw_cached_heaps;
static _Atomic size_t cached_bytes;
_Atomic uint64_t mw_cached_heap_due_ns = UINT64_MAX;

static bool set_aside(size_t bytes) {
	/* Relaxed: only a bound; no other memory depends on it. */
	size_t before = atomic_fetch_add_explicit(&cached_bytes, bytes, memory_order_relaxed);
	if (before + bytes <= MW_CACHED_HEAPS_BYTES)
		return true;
	atomic_fetch_sub_explicit(&cached_bytes, bytes, memory_order_relaxed);
	return false;
}

bool mw_cached_heap_begin(mw_heap_t *heap) {
	if (heap->arena || heap->rate_taken)
		return false;
	size_t bytes = mw_heap_shed(heap);
	if (bytes == 0 || !set_aside(bytes))
		return false;
	heap->cached.bytes = bytes;
	return true;
}

void mw_cached_heap_save(mw_heap_t *heap) {
	heap->cached.node = mw_os_numa_here();
	mw_inherited_leave(heap);
	memcpy(heap->cached.tcache, mw_thread.tcache, sizeof mw_thread.tcache);
	/* Another thread may get this one's thread pointer without getting its heap. */
	mw_heap_pages_divert(heap, 0);
}

static uint64_t due_of(const mw_heap_t *heap) {
	return heap->cached.since_ns + mw_chunk_decay_ns() / 2;
}

/* Returns the place that names the heap cached first, the last of the list. */
static mw_heap_t **oldest(void) {
	mw_heap_t **link = &mw_cached_heaps;
	while (*link && (*link)->next_free)
		link = &(*link)->next_free;
	return link;
}

static void set_due(void) {
	const mw_heap_t *heap = *oldest();
	atomic_store_explicit(&mw_cached_heap_due_ns, heap ? due_of(heap) : UINT64_MAX,
			      memory_order_relaxed);
}

void mw_cached_heap_put(mw_heap_t *heap) {
	heap->cached.waits = true;
	heap->cached.since_ns = mw_os_monotonic_coarse_ns();
	heap->next_free = mw_cached_heaps;
	mw_cached_heaps = heap;
	set_due();
}

static mw_heap_t *take(mw_heap_t **link) {
	mw_heap_t *heap = *link;
	*link = heap->next_free;
	heap->cached.waits = false;
	atomic_fetch_sub_explicit(&cached_bytes, heap->cached.bytes, memory_order_relaxed);
	set_due();
	return heap;
}

mw_heap_t *mw_cached_heap_take_slow(void) {
	mw_heap_t **link = &mw_cached_heaps;
	unsigned node = mw_os_numa_here();
	while (*link && (*link)->cached.node != node)
		link = &(*link)->next_free;
	return *link ? take(link) : NULL;
}

mw_heap_t *mw_cached_heap_take_oldest(bool due_only) {
	mw_heap_t **link = oldest();
	if (!*link || (due_only && due_of(*link) > mw_os_monotonic_coarse_ns()))
		return NULL;
	return take(link);
}

void mw_cached_heap_resume(mw_heap_t *heap) {
	memcpy(mw_thread.tcache, heap->cached.tcache, sizeof mw_thread.tcache);
	memset(heap->cached.tcache, 0, sizeof heap->cached.tcache);
	mw_heap_pages_claim(heap);
}

void mw_cached_heap_fork_child(void) {
	size_t bytes = 0;
	for (const mw_heap_t *heap = mw_cached_heaps; heap; heap = heap->next_free)
		bytes += heap->cached.bytes;
	atomic_store_explicit(&cached_bytes, bytes, memory_order_relaxed);
}
