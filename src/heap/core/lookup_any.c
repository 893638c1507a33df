/* SPDX-License-Identifier: MIT
 * lookup_any.c -- whether a block starts at an address.  Apart from lookup.c, whose code every
 * process has in memory. */
#include "heap/core/lookup.h"
#include "heap/large/huge.h"
#include "heap/large/huge_table.h"
#include "heap/layout/page.h"

static bool is_in_chunk(const void *address) {
	mw_page_t *slice = mw_page_of_slice((uintptr_t)address);
	if (mw_page_slice_index(slice) == 0)
		return false;
	const mw_page_t *page = mw_page_first(slice);
	switch ((mw_page_kind_t)page->kind) {
	case MW_PAGE_SMALL:
	case MW_PAGE_SAMPLED:
		return mw_page_holds(page, address);
	case MW_PAGE_LARGE:
		return address == page->start;
	case MW_PAGE_NONE:
	case MW_PAGE_INTERIOR:
	case MW_PAGE_FREED:
		break;
	}
	return false;
}

bool mw_lookup_is_block(const void *address) {
	mw_huge_block_t huge;
	switch (mw_word_kind((uintptr_t)address)) {
	case MW_MAP_CHUNK:
		return is_in_chunk(address);
	case MW_MAP_HUGE:
		return mw_huge_find(address, &huge);
	case MW_MAP_GUARDED:
		return true; /* nobody has any other address there */
	default:
		return false;
	}
}
