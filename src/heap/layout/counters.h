/* SPDX-License-Identifier: MIT
 * counters.h -- counters of rare events, of all threads together, since the start.
 * Layer: heap.  All relaxed: no counter says anything about other memory.  Events of small
 * blocks are counted for each heap instead (mw_heap_counts_t), so that threads share no cache line
 * for them. */
#ifndef MW_HEAP_COUNTERS_H
#define MW_HEAP_COUNTERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/layout/size_class.h"
#include "os/platform/arch.h"

/* Size classes of blocks above the small limit: four steps a doubling, as the small classes. */
#define MW_LARGE_CLASSES (4u * (MW_OS_ADDRESS_BITS - 16))

typedef struct mw_counters {
	_Atomic uint64_t slabs[MW_CLASS_COUNT]; /* sampled-slot pages made */
	_Atomic uint64_t large_made[MW_LARGE_CLASSES], large_freed[MW_LARGE_CLASSES];
	_Atomic uint64_t zero_reallocs; /* realloc(block, 0) */
	_Atomic uint64_t
		hole_kernel_pages; /* kernel pages purged between blocks: heap/local/holes.h */
} mw_counters_t;
extern mw_counters_t mw_counters;

static inline void mw_counters_add(_Atomic uint64_t *counter, uint64_t by) {
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static inline uint64_t mw_counters_read(const _Atomic uint64_t *counter) {
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* bytes > MW_SMALL_MAX_BYTES.  Class 0 is up to 80 KiB, then 96, 112, 128, 160 KiB and so on. */
static inline unsigned mw_large_class(size_t bytes) {
	unsigned log2 = mw_log2_floor(bytes - 1);
	return 4 * (log2 - 16) + (unsigned)(((bytes - 1) >> (log2 - 2)) & 3);
}

#endif
