/* SPDX-License-Identifier: MIT
 * sampled.h -- sampled-slot pages: where sampled blocks of small classes live.
 * Layer: heap.  Pages of kind SAMPLED, shared by all threads, one lock a size (MW_RANK_SAMPLED).
 * Their owner word diverts free(), which finds a mark for each block: its class, which may be a
 * smaller one than the slab's, and the number of its record. */
#ifndef MW_HEAP_SAMPLED_H
#define MW_HEAP_SAMPLED_H

#include "base/check.h"
#include "heap/core/heap.h"
#include "heap/layout/page.h"
#include "os/lock/lock.h"

/* See sampled_mark.h. */
#define MW_SAMPLED_CLASS_SHIFT 24
#define MW_SAMPLED_NUMBER_MASK (((uint32_t)1 << MW_SAMPLED_CLASS_SHIFT) - 1)

/* The slabs of one class: the heap's for samples, and those of each arena for all its blocks. */
typedef struct mw_slabs {
	mw_lock_t lock;
	mw_page_queue_t with_room;
	uint64_t taken, given; /* blocks; relaxed for others */
	_Atomic uint64_t made; /* slabs */
	uint32_t blocks;       /* of a slab; 0: none was made yet; relaxed for others */
} mw_slabs_t;

/* That are put back at once. */
#define MW_SLOT_CACHE_SLOTS 7
/* A slot of a slab without a block.  Its mark says that it is free. */
typedef struct mw_slot {
	void *block;
	uint32_t *mark;
} mw_slot_t;

/* A block of the class, not yet bound to a record; NULL: no memory.  `arena`: whose; NULL: the
 * heap's own.  *mark is for mw_sampled_bind(). */
void *mw_sampled_take(mw_arena_t *arena, unsigned size_class, uint32_t **mark);
/* So many free slots of one class of slabs, of which an arena's is that of the blocks. */
void mw_sampled_put_back(mw_arena_t *arena, unsigned slab_class, const mw_slot_t *slots,
			 unsigned count);
/* The class of the slabs that samples of the class are to lie in, as long as there is room. */
unsigned mw_sampled_shared_class(unsigned size_class);
/* Only the thread that is making the block knows it yet. */
static inline void mw_sampled_bind(uint32_t *mark, mw_record_id_t record) {
	MW_ASSERT(record <= MW_SAMPLED_NUMBER_MASK);
	__atomic_store_n(mark, *mark | record, __ATOMIC_RELAXED); /* others count marks */
}
/* Usable bytes of the block, those of its class; also when it was just freed. */
uint32_t mw_sampled_bytes(const mw_page_t *page, const void *block);
/* Of the live block that holds the address; 0: none. */
mw_record_id_t mw_sampled_record(const mw_page_t *page, const void *address);
/* Of the page's live blocks; nobody else uses the page. */
void mw_sampled_visit_records(mw_page_t *page, void (*visit)(mw_record_id_t record));
typedef struct mw_sampled_live {
	uint32_t blocks;
	size_t bytes;
} mw_sampled_live_t;
/* The page's live blocks, which are also added to `by_class` (MW_CLASS_COUNT; NULL: nowhere).  Any
 * thread, without a lock. */
mw_sampled_live_t mw_sampled_count_live(const mw_page_t *page, uint32_t *by_class);
mw_lock_t *mw_sampled_lock(unsigned size_class);
void mw_sampled_fork_prepare(void);
void mw_sampled_fork_release(bool in_child);

#endif
