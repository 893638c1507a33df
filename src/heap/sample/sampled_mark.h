/* SPDX-License-Identifier: MIT
 * sampled_mark.h -- the marks of slots in sampled-slot pages, for sampled.c and slot_cache.c.
 * Layer: heap.
 *
 * A mark says whether the slot is free, the class of its block, and below that the number of the
 * block's record (0: none).  The mark of a free slot holds the index of the next free slot instead.
 */
#ifndef MW_HEAP_SAMPLED_MARK_H
#define MW_HEAP_SAMPLED_MARK_H

#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/sample/sampled.h"

#define MW_MARK_FREE ((uint32_t)1 << 31)
/* Instead of an index: there is no next free slot. */
#define MW_MARK_LAST MW_SAMPLED_NUMBER_MASK

_Static_assert(MW_CLASS_COUNT <= MW_MARK_FREE >> MW_SAMPLED_CLASS_SHIFT, "between the two");

static inline bool mw_mark_is_few(size_t block_bytes) {
	return block_bytes >= MW_SLICE_BYTES / MW_PAGE_SAMPLE_MARKS;
}

/* Returns the mark of a slot that was carved. */
static inline uint32_t *mw_mark_at(const mw_page_t *page, size_t index) {
	if (mw_mark_is_few(page->block_bytes))
		return &((mw_page_t *)(uintptr_t)page)->sample_marks[index];
	return (uint32_t *)(void *)page->start - 1 - index;
}

/* Relaxed: other threads read marks while they count live blocks. */
static inline void mw_mark_set(uint32_t *slot, uint32_t mark) {
	__atomic_store_n(slot, mark, __ATOMIC_RELAXED);
}

static inline uint32_t mw_mark_bytes(uint32_t mark) {
	return mw_class_bytes[(mark & ~MW_MARK_FREE) >> MW_SAMPLED_CLASS_SHIFT];
}

#endif
