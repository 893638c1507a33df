/* SPDX-License-Identifier: MIT
 * counts.h -- bytes that a thread allocated and freed, from what its slow paths count.
 * Layer: heap.  Owner thread only. */
#ifndef MW_HEAP_COUNTS_H
#define MW_HEAP_COUNTS_H

#include "heap/layout/page.h"
#include "heap/local/heap.h"

/* Bytes that the calling thread allocated and freed since it got its heap.  Exact except for blocks
 * that another thread frees: such a block counts as freed by the thread that allocated it, once the
 * block is back in its page.  Walks the thread's pages.  No fast path counts: the number of
 * handed-out blocks follows from the blocks that are left in the lists. */
void mw_heap_thread_bytes(uint64_t *allocated_bytes, uint64_t *freed_bytes);
/* Bytes that refills and large blocks gave to the calling thread, without a walk; 0: no heap. */
MW_COLD uint64_t mw_heap_thread_given_bytes(void);

/* Both sums of mw_heap_thread_bytes() start at 0 now.  The tcache lists of tiny classes are
 * empty. */
void mw_heap_counts_begin(mw_heap_t *heap);
/* Bytes in the tcache lists of tiny classes.  Walks the lists; ends the program when a list has
 * no end. */
uint64_t mw_heap_tiny_tcache_bytes(void);
/* Bytes in use of a thread whose frees are counted. */
uint64_t mw_heap_counts_live_bytes(const mw_heap_t *heap);
static inline bool mw_heap_counts_frees(const mw_heap_t *heap) {
	return heap->owner == MW_OWNER_DIVERT;
}
/* A class above tiny, where no push is counted: blocks given to the calling thread's list are those
 * that came off the list and those in it.  Other threads see the number last computed. */
void mw_heap_counts_given(mw_heap_t *heap, unsigned size_class);

/* Brings the counters of heap/stats/thread_counter.h up to date, if the thread asked for any. */
MW_COLD void mw_heap_counts_show_slow(mw_heap_t *heap);
static inline void mw_heap_counts_show(mw_heap_t *heap) {
	if (MW_UNLIKELY(heap->counter_wanted))
		mw_heap_counts_show_slow(heap);
}
/* Called when a thread that asked for a counter frees a small block. */
static inline void mw_heap_counts_freed(mw_heap_t *heap, size_t bytes) {
	heap->counts.freed_bytes += bytes;
	heap->unshown_bytes += bytes;
	/* A block that goes onto a list and off again needs no refill, which would count it. */
	if (heap->unshown_bytes >= MW_SLICE_BYTES) {
		heap->unshown_bytes = 0;
		mw_heap_counts_show(heap);
	}
}

#endif
