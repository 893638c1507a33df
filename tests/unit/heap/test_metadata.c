/* SPDX-License-Identifier: MIT
 * test_metadata.c -- where a chunk's metadata lies: each way to it leads to the same place, nothing
 * overlaps, and neighbours' begin elsewhere. */
#include "heap/core/fast.h"
#include "heap/layout/page.h"
#include "test.h"

enum { CHUNKS = 2 * MW_CHUNK_PLACES };
#define FIRST_CHUNK ((uintptr_t)0x1f12344 << MW_CHUNK_SHIFT)

static uintptr_t chunk_at(unsigned i) {
	return FIRST_CHUNK + i * MW_CHUNK_BYTES;
}

static void every_slice_has_its_own(void) {
	for (unsigned i = 0; i < CHUNKS; i++) {
		uintptr_t base = chunk_at(i);
		const mw_chunk_t *chunk = (const mw_chunk_t *)base;
		uintptr_t entries = (uintptr_t)mw_page_entry(mw_chunk_page(chunk, 0)) - base;
		uintptr_t pages = (uintptr_t)mw_chunk_page(chunk, 0) - base;
		CHECK(entries >= sizeof(mw_chunk_t));
		CHECK(pages >= entries + MW_CHUNK_SLICES * sizeof(mw_entry_t));
		CHECK(pages + MW_CHUNK_SLICES * sizeof(mw_page_t) <= MW_CHUNK_META_END);
		for (unsigned slice = 0; slice < MW_CHUNK_SLICES; slice++) {
			uintptr_t address = base + slice * MW_SLICE_BYTES + slice * 48;
			const mw_page_t *page = mw_page_of_slice(address);
			CHECK_EQ((uintptr_t)page, base + pages + slice * sizeof(mw_page_t));
			CHECK(page == mw_chunk_page(chunk, slice));
			CHECK(mw_chunk_of(page) == chunk);
			CHECK_EQ(mw_page_slice_index(page), slice);
			CHECK_EQ((uintptr_t)mw_page_entry(page),
				 base + entries + slice * sizeof(mw_entry_t));
		}
	}
}

/* What free() finds by itself. */
static void the_fast_path_finds_the_same(void) {
	for (unsigned i = 0; i < CHUNKS; i++) {
		mw_address_map[chunk_at(i) >> MW_CHUNK_SHIFT] = MW_MAP_CHUNK;
		for (unsigned slice = 0; slice < MW_CHUNK_SLICES; slice++) {
			uintptr_t address = chunk_at(i) + slice * MW_SLICE_BYTES + 1024;
			mw_place_in_chunk_t place;
			CHECK(mw_fast_place((void *)address, &place));
			CHECK(mw_fast_page(place) == mw_page_of_slice(address));
			CHECK(mw_fast_entry(place) == mw_page_entry(mw_page_of_slice(address)));
		}
		mw_address_map[chunk_at(i) >> MW_CHUNK_SHIFT] = MW_MAP_FOREIGN;
	}
}

static void neighbours_share_no_line_of_a_set(void) {
	for (unsigned i = 0; i + 1 < CHUNKS; i++) {
		uintptr_t here = (uintptr_t)mw_page_of_slice(chunk_at(i)) - chunk_at(i);
		uintptr_t next = (uintptr_t)mw_page_of_slice(chunk_at(i + 1)) - chunk_at(i + 1);
		uintptr_t apart = here > next ? here - next : next - here;
		CHECK(apart >= MW_CHUNK_SLICES * sizeof(mw_page_t));
		if (i + MW_CHUNK_PLACES < CHUNKS)
			CHECK_EQ((uintptr_t)mw_page_of_slice(chunk_at(i + MW_CHUNK_PLACES)),
				 chunk_at(i + MW_CHUNK_PLACES) + here);
	}
}

int main(void) {
	RUN(every_slice_has_its_own);
	RUN(the_fast_path_finds_the_same);
	RUN(neighbours_share_no_line_of_a_set);
	return 0;
}
