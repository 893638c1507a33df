/* SPDX-License-Identifier: MIT
 * sampled.h -- sampled-slot pages, where sampled blocks of small classes lie.
 * Layer: heap.  Pages of kind SAMPLED, shared by all threads, with one lock for each size
 * (MW_RANK_SAMPLED).  Their owner word diverts free(), which finds a mark for each block: the
 * block's class, which may be a smaller one than the page's, and the number of its record. */
#ifndef MW_HEAP_SAMPLED_H
#define MW_HEAP_SAMPLED_H

#include "base/check.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/record.h"
#include "heap/layout/slabs.h"
#include "os/lock/lock.h"

/* Parts of a mark: see sampled_mark.h. */
#define MW_SAMPLED_CLASS_SHIFT 24
#define MW_SAMPLED_NUMBER_MASK (((uint32_t)1 << MW_SAMPLED_CLASS_SHIFT) - 1)

/* Most slots that are put back at once. */
#define MW_SLOT_CACHE_SLOTS 7
/* A free slot.  Its mark says that it is free. */
typedef struct mw_slot {
	void *block;
	uint32_t *mark;
} mw_slot_t;

/* Takes a slot for a block of the class, not yet bound to a record; NULL: no memory.  `arena`: the
 * arena of the block, or NULL.  *mark: for mw_sampled_bind(). */
void *mw_sampled_take(mw_arena_t *arena, unsigned size_class, uint32_t **mark);
/* Takes a slot of a page that has room.  The caller holds the lock of its pages and counts it. */
MW_NOINLINE void *mw_sampled_take_from(mw_page_t *page, unsigned size_class, uint32_t **mark);
/* Slots of the page were taken.  A full page leaves the queue.  The caller holds the lock. */
static inline void mw_sampled_count_taken(mw_slabs_t *slabs, mw_page_t *page, uint32_t slots) {
	if (page->used == page->capacity) {
		mw_queue_remove(&slabs->with_room, page);
		page->state = MW_PAGE_FULL;
	}
	mw_lock_bump(&slabs->taken, slots);
}
/* Returns free slots of one class of pages to these.  In an arena that is the class of the blocks.
 */
void mw_sampled_put_back(mw_arena_t *arena, unsigned slab_class, const mw_slot_t *slots,
			 unsigned count);
/* Returns the class of the pages in which samples of this class lie, as long as these have room.
 * A slot is larger than its block, so that a pointer to the end of one block is never the start of
 * another: such a pointer hides no leak. It is aligned as its block has to be. Blocks of
 * MW_SMALL_MAX_BYTES and those of arenas have slots of their size, as in the hardened library,
 * where a block ends with a word of the library's, by which its size is found. */
unsigned mw_sampled_shared_class(unsigned size_class);
/* Returns the class of the pages in which samples of this class lie when the shared pages have no
 * room: the class of the next power of two. */
unsigned mw_sampled_apart_class(unsigned size_class);
/* Writes the block's record into its mark.  Only the thread that is making the block knows it yet.
 */
static inline void mw_sampled_bind(uint32_t *mark, mw_record_id_t record) {
	MW_ASSERT(record <= MW_SAMPLED_NUMBER_MASK);
	__atomic_store_n(mark, *mark | record, __ATOMIC_RELAXED); /* others count marks */
}
/* Returns the usable bytes of the block, those of its class; also of a block that was just freed.
 */
uint32_t mw_sampled_bytes(const mw_page_t *page, const void *block);
/* Returns the record of the live block that holds the address; 0: none. */
mw_record_id_t mw_sampled_record(const mw_page_t *page, const void *address);
/* The block, which the caller holds, counts as a free slot (true) or as a live block without a
 * record (false).  Returns the record that it had; 0: none. */
mw_record_id_t mw_sampled_set_waiting(const mw_page_t *page, const void *block, bool waits);
/* Visits the records of the page's live blocks; no other thread uses the page. */
void mw_sampled_visit_records(mw_page_t *page, void (*visit)(mw_record_id_t record));
typedef struct mw_sampled_live {
	uint32_t blocks;
	size_t bytes;
} mw_sampled_live_t;
/* Counts the page's live blocks, and adds them to `by_class` (MW_CLASS_COUNT elements; NULL: to
 * none).  Any thread, without a lock. */
mw_sampled_live_t mw_sampled_count_live(const mw_page_t *page, uint32_t *by_class);
mw_lock_t *mw_sampled_lock(unsigned size_class);
void mw_sampled_fork_prepare(void);
void mw_sampled_fork_release(bool in_child);

#endif
