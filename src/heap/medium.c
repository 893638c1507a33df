/* SPDX-License-Identifier: MIT
 * medium.c -- the record table, written and read only in pages that hold a sample. */
#include "heap/medium.h"

#include "base/compiler.h"
#include "heap/size_class.h"

_Static_assert(MW_MEDIUM_SLICES *MW_SLICE_BYTES / (MW_SMALL_MAX_BYTES + 1) <= UINT8_MAX,
	       "a page's samples are counted in a byte");

static mw_record_id_t *record_of(const mw_page_t *page, const void *block) {
	char *table = page->start + (size_t)page->capacity * page->block_bytes;
	return (mw_record_id_t *)(void *)table +
	       (size_t)((const char *)block - page->start) / page->block_bytes;
}

void mw_medium_set_record(void *block, mw_record_id_t record) {
	mw_page_t *page = mw_page_first(mw_page_of_slice((uintptr_t)block));
	if (!page->has_records) {
		if (!page->zeroed)
			for (uint32_t i = 0; i < page->capacity; i++)
				record_of(page, page->start)[i] = 0;
		page->has_records = true;
	}
	*record_of(page, block) = record;
	/* Read by whoever frees a block: for this block the program's own hand-over orders it; for
	 * others it makes no difference, their entries are 0. */
	if (record)
		__atomic_fetch_add(&page->samples, 1, __ATOMIC_RELEASE);
}

mw_record_id_t mw_medium_take_record(mw_page_t *page, const void *block) {
	/* Most frees end here, without the table's memory and a division. */
	if (MW_LIKELY(__atomic_load_n(&page->samples, __ATOMIC_ACQUIRE) == 0))
		return 0;
	mw_record_id_t *place = record_of(page, block), record = *place;
	if (record) {
		*place = 0;
		__atomic_fetch_sub(&page->samples, 1, __ATOMIC_RELAXED);
	}
	return record;
}
