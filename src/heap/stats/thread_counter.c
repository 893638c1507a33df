/* SPDX-License-Identifier: MIT
 * thread_counter.c -- all frees of a thread take the slow path, which counts them. */
#include "heap/stats/thread_counter.h"

#include <string.h>

#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/local/counts.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"
#include "heap/memory/chunk.h"
#include "heap/thread/thread.h"

static void divert_from(mw_entry_t *entry, uintptr_t owner) {
	/* Another thread may be taking the page. */
	atomic_compare_exchange_strong_explicit(&entry->owner, &owner, MW_OWNER_DIVERT,
						memory_order_relaxed, memory_order_relaxed);
}

/* Full pages above tiny, which are in no list, keep the owner word of the thread that had them last
 * (heap/remote/abandoned.c). In the child of a fork that thread may be gone, and this one may have
 * its thread pointer. */
static MW_COLD void divert_full_pages(void) {
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	for (const mw_chunk_t *chunk = mw_chunk_newest(); chunk; chunk = chunk->all_next) {
		for (unsigned slice = 1; slice < MW_CHUNK_SLICES; slice++) {
			mw_entry_t *entry = mw_page_entry(mw_chunk_page(chunk, slice));
			divert_from(entry, self);
			divert_from(entry, self | MW_OWNER_ABOVE_TINY);
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
		if (!mw_heap_counts_frees(heap))
			count_frees(heap);
		return &heap->counts.freed_bytes;
	}
	/* With empty lists and countdowns not drawn the next malloc takes the slow path. */
	mw_heap_take_rate();
	memset(heap->until_sample_tiny, 0, sizeof heap->until_sample_tiny);
	heap->counter_wanted = true;
	mw_heap_counts_show_slow(heap);
	return &heap->counts.given_bytes;
}

uint64_t mw_heap_thread_peak(bool begins) {
	mw_heap_t *heap = mw_heap_self();
	if (!heap || !mw_heap_thread_counter(true) || !mw_heap_thread_counter(false))
		return 0;
	uint64_t live = mw_heap_counts_live_bytes(heap);
	if (!heap->peak_wanted || begins || live > heap->peak_bytes)
		heap->peak_bytes = live;
	heap->peak_wanted = true;
	return heap->peak_bytes;
}
