/* SPDX-License-Identifier: MIT
 * slices.h -- runs of a chunk's slices, as bits of the chunk's masks.
 * Layer: heap.  The caller holds the lock of the masks. */
#ifndef MW_HEAP_SLICES_H
#define MW_HEAP_SLICES_H

#include <stdint.h>
#include <string.h>

#include "heap/layout/page.h"

static inline uint64_t mw_slices_mask(unsigned first, unsigned count) {
	return ((count == 64 ? 0 : (uint64_t)1 << count) - 1) << first;
}

/* Returns the first slice of an aligned run of `count` set bits in `mask`; 64: there is none. */
static inline unsigned mw_slices_find(uint64_t mask, unsigned count, unsigned align_slices) {
	/* After the loop bit i is set if bits i .. i + count - 1 were set; each turn doubles the
	 * length seen. */
	for (unsigned seen = 1; seen < count;) {
		unsigned step = seen < count - seen ? seen : count - seen;
		mask &= mask >> step;
		seen += step;
	}
	if (align_slices > 1) {
		uint64_t aligned = 0;
		for (unsigned i = 0; i < MW_CHUNK_SLICES; i += align_slices)
			aligned |= (uint64_t)1 << i;
		mask &= aligned;
	}
	return mask ? (unsigned)__builtin_ctzll(mask) : 64;
}

/* Returns the first slice of the lowest run of set bits, and in *count the bits.  mask != 0. */
static inline unsigned mw_slices_first_run(uint64_t mask, unsigned *count) {
	unsigned first = (unsigned)__builtin_ctzll(mask);
	uint64_t rest = ~(mask >> first);
	*count = rest ? (unsigned)__builtin_ctzll(rest) : 64 - first;
	return first;
}

static inline void mw_slices_mark_interior(mw_page_t *page, unsigned from, unsigned to) {
	for (unsigned i = from; i < to; i++) {
		page[i].kind = MW_PAGE_INTERIOR;
		page[i].first_slice = (uint8_t)mw_page_slice_index(page);
	}
}

/* Makes a page of a run of slices: see mw_chunk_take().  The owner words of free slices divert
 * already, or are 0. */
static inline mw_page_t *mw_slices_init_page(mw_chunk_t *chunk, unsigned first, unsigned count,
					     bool zeroed) {
	mw_page_t *page = mw_chunk_page(chunk, first);
	mw_slices_mark_interior(page, 1, count);
	memset(page, 0, sizeof *page);
	page->slice_count = (uint8_t)count;
	page->zeroed = zeroed;
	page->state = MW_PAGE_LOOSE;
	page->start = (char *)chunk + (size_t)first * MW_SLICE_BYTES;
	return page;
}

/* The page's slices are free from now on; the page of the first keeps `kind`. */
static inline void mw_slices_end_page(mw_page_t *page, mw_page_kind_t kind) {
	for (unsigned i = 0; i < page->slice_count; i++) {
		page[i].kind = MW_PAGE_NONE;
		mw_page_divert(&page[i]);
		mw_page_set_class_byte(&page[i], 0);
	}
	page->kind = (uint8_t)kind;
	atomic_store_explicit(&page->heap, NULL, memory_order_relaxed);
}

#endif
