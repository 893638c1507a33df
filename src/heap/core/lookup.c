/* SPDX-License-Identifier: MIT
 * lookup.c -- the address map, the page, and the page's own rule for the starts of its blocks. */
#include "heap/core/lookup.h"

#include "heap/arena/arena.h"
#include "heap/large/huge.h"
#include "heap/large/huge_table.h"
#include "heap/layout/page.h"
#include "heap/misuse/guarded.h"
#include "heap/misuse/misuse.h"
#include "heap/sample/sampled.h"

mw_page_t *mw_lookup_page(const char *function, const void *block) {
	if (mw_word_kind((uintptr_t)block) != MW_MAP_CHUNK)
		mw_misuse_foreign(function, block);
	mw_page_t *slice = mw_page_of_slice((uintptr_t)block);
	if (mw_page_slice_index(slice) == 0)
		mw_misuse_foreign(function, block);
	mw_page_t *page = mw_page_first(slice);
	switch ((mw_page_kind_t)page->kind) {
	case MW_PAGE_SMALL:
	case MW_PAGE_SAMPLED:
		if (MW_UNLIKELY(!mw_page_holds(page, block)))
			mw_misuse_misaligned(function, block, page);
		return page;
	case MW_PAGE_LARGE:
		if (block != page->start)
			mw_misuse_misaligned(function, block, page);
		return page;
	case MW_PAGE_NONE:
	case MW_PAGE_INTERIOR:
	case MW_PAGE_FREED:
		break;
	}
	mw_misuse_dead(function, block, page);
}

unsigned mw_heap_arena_of(const void *block) {
	unsigned where = mw_word_kind((uintptr_t)block);
	if (where == MW_MAP_HUGE)
		return mw_huge_arena(block);
	const mw_arena_t *arena = where == MW_MAP_CHUNK ? mw_chunk_of(block)->arena : NULL;
	return arena ? arena->number : 0;
}

size_t mw_lookup_bytes(const char *function, const void *block) {
	unsigned where = mw_word_kind((uintptr_t)block);
	if (where == MW_MAP_HUGE)
		return mw_huge_bytes(function, block);
	if (where == MW_MAP_GUARDED)
		return mw_guarded_usable_bytes(function, block);
	if (where == MW_MAP_EMPTY)
		return 0;
	const mw_page_t *page = mw_lookup_page(function, block);
	if (MW_UNLIKELY(page->kind == MW_PAGE_SAMPLED))
		return mw_sampled_bytes(page, block);
	return page->kind == MW_PAGE_LARGE ? page->large_bytes : page->block_bytes;
}

/* Cold: few programs ask, and the other functions lie in memory in every process. */
static MW_COLD bool is_in_chunk(const void *address) {
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

MW_COLD bool mw_lookup_is_block(const void *address) {
	mw_huge_block_t huge;
	switch (mw_word_kind((uintptr_t)address)) {
	case MW_MAP_CHUNK:
		return is_in_chunk(address);
	case MW_MAP_HUGE:
		return mw_huge_find(address, &huge);
	case MW_MAP_GUARDED:
	case MW_MAP_EMPTY:
		return true; /* nobody has any other address there */
	default:
		return false;
	}
}
