/* SPDX-License-Identifier: MIT
 * sampled.h -- mini-slabs: where sampled blocks of small classes live.
 * Layer: heap.  Pages of kind SAMPLED, shared by all threads, one lock a size (MW_RANK_SAMPLED).
 * Their owner word diverts free(), which finds a mark for each block: its class, which may be a
 * smaller one than the slab's, and the number of its record. */
#ifndef MW_HEAP_SAMPLED_H
#define MW_HEAP_SAMPLED_H

#include "base/check.h"
#include "heap/heap.h"
#include "heap/page.h"
#include "os/lock.h"

/* A block's mark: whether it is free, its class, and below that the number of its record (0: none),
 * or of a free one the index of the next. */
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

/* A block of the class, not yet bound to a record; NULL: no memory.  `arena`: whose; NULL: the
 * heap's own.  *mark is for mw_sampled_bind(). */
void *mw_sampled_take(mw_arena_t *arena, unsigned size_class, uint32_t **mark);
/* Only the thread that is making the block knows it yet. */
static inline void mw_sampled_bind(uint32_t *mark, mw_record_id_t record) {
	MW_ASSERT(record <= MW_SAMPLED_NUMBER_MASK);
	*mark |= record;
}
/* Usable bytes of the block, those of its class; also when it was just freed. */
uint32_t mw_sampled_bytes(const mw_page_t *page, const void *block);
/* Of the live block that holds the address; 0: none. */
mw_record_id_t mw_sampled_record(const mw_page_t *page, const void *address);
/* What sampled blocks, those of arenas and large ones are filled with when they are freed; -1:
 * nothing.  Set before threads exist.  The hardened library has a filling of its own. */
extern int mw_heap_fill_freed;
/* Ends the program on a double free or a pointer that is not a block's start.  Returns the record
 * (0: none); the block may be handed out again at once.  *usable_bytes: what it had. */
mw_record_id_t mw_sampled_give(mw_page_t *page, void *block, uint32_t *usable_bytes);
/* Of the page's live blocks; nobody else uses the page. */
void mw_sampled_visit_records(mw_page_t *page, void (*visit)(mw_record_id_t record));
/* Adds the page's live blocks by their class.  Any thread, without a lock. */
void mw_sampled_count_live(const mw_page_t *page, uint32_t live[MW_CLASS_COUNT]);
mw_lock_t *mw_sampled_lock(unsigned size_class);
void mw_sampled_fork_prepare(void);
void mw_sampled_fork_release(bool in_child);

#endif
