/* SPDX-License-Identifier: MIT
 * slabs.h -- the sampled-slot pages of one size class: those of the heap hold samples, those of an
 * arena all its small blocks.
 * Layer: heap.  heap/sample/sampled.h takes and frees their slots. */
#ifndef MW_HEAP_SLABS_H
#define MW_HEAP_SLABS_H

#include <stdatomic.h>
#include <stdint.h>

#include "heap/layout/queue.h"
#include "os/lock/lock.h"

typedef struct mw_slabs {
	mw_lock_t lock;            /* MW_RANK_SAMPLED */
	mw_page_queue_t with_room; /* pages with a free slot */
	uint64_t taken, given;     /* slots taken and freed; relaxed for others */
	_Atomic uint64_t made;     /* pages made; counted in arenas only */
	uint32_t blocks;           /* slots of a page; 0: none was made yet; relaxed for others */
} mw_slabs_t;

#endif
