/* SPDX-License-Identifier: MIT
 * counters.h -- counts of rare events, of all threads together, since the start.
 * Layer: heap.  Relaxed: each is a number of its own.  What happens once a refill or more often is
 * counted a heap instead (mw_heap_counts_t): no cache line is shared there. */
#ifndef MW_HEAP_COUNTERS_H
#define MW_HEAP_COUNTERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/layout/size_class.h"

/* Blocks above the small limit by their size: four steps a doubling, as the classes below. */
#define MW_LARGE_CLASSES (4u * (47 - 16))

typedef struct mw_counters {
	_Atomic uint64_t flushes[MW_CLASS_COUNT];   /* list heads sent back to their pages */
	_Atomic uint64_t pages[MW_CLASS_COUNT];     /* made */
	_Atomic uint64_t reclaimed[MW_CLASS_COUNT]; /* pages of ended threads taken over */
	_Atomic uint64_t large_made[MW_LARGE_CLASSES], large_freed[MW_LARGE_CLASSES];
	_Atomic uint64_t zero_reallocs;     /* realloc(block, 0) */
	_Atomic uint64_t hole_kernel_pages; /* given back from between blocks: heap/local/holes.h */
} mw_counters_t;
extern mw_counters_t mw_counters;

static inline void mw_counters_add(_Atomic uint64_t *counter, uint64_t by) {
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static inline uint64_t mw_counters_read(const _Atomic uint64_t *counter) {
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* bytes > MW_SMALL_MAX_BYTES: 0 is up to 80 KiB, then 96, 112, 128, 160 KiB and so on. */
static inline unsigned mw_large_class(size_t bytes) {
	unsigned log2 = mw_log2_floor(bytes - 1);
	return 4 * (log2 - 16) + (unsigned)(((bytes - 1) >> (log2 - 2)) & 3);
}

#endif
