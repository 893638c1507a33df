/* SPDX-License-Identifier: MIT
 * cfi_index.c -- lists the FDEs of .eh_frame and sorts them. */
#include "prof/unwind/cfi/cfi_index.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* Distances of functions from the area are stored with this added. */
#define DISTANCE_BIAS ((uintptr_t)1 << 31)

/* Returns the next FDE at or behind `*at`, and sets `*at` behind its record. NULL: no more. A
 * record of zero bytes, with which every .eh_frame ends, may also stand in the middle: relocatable
 * links join whole files. */
static MW_COLD const uint8_t *next_fde(const mw_cfi_area_t *frames, const uint8_t **at) {
	mw_reader_t reader = mw_reader(*at, frames->hi);
	while (mw_reader_left(&reader) > sizeof(uint32_t)) {
		const uint8_t *record_at = reader.at;
		uint32_t length = mw_read_u32(&reader);
		if (length == 0)
			continue;
		mw_reader_t record = reader;
		/* A damaged length reaches beyond the end. */
		if (!mw_read_bytes(&reader, length))
			break;
		if (mw_read_u32(&record) != 0) {
			*at = reader.at;
			return record_at;
		}
	}
	return NULL;
}

MW_COLD uint32_t mw_cfi_index_capacity(const mw_cfi_area_t *frames) {
	uint32_t count = 0;
	const uint8_t *at = frames->lo;
	/* Offsets have 32 bits. */
	if ((uintptr_t)(frames->hi - frames->lo) > UINT32_MAX)
		return 0;
	while (next_fde(frames, &at))
		count++;
	return count;
}

/* Moves the entry at `parent` down in the heap of the first `count` entries. */
static MW_COLD void sift(mw_cfi_index_entry_t *entries, uint32_t parent, uint32_t count) {
	mw_cfi_index_entry_t moved = entries[parent];
	for (uint64_t child; (child = 2 * (uint64_t)parent + 1) < count;) {
		if (child + 1 < count && entries[child + 1] > entries[child])
			child++;
		if (entries[child] <= moved)
			break;
		entries[parent] = entries[child];
		parent = (uint32_t)child;
	}
	entries[parent] = moved;
}

/* Heapsort: needs no memory, and no input makes it slow. */
static MW_COLD void sort(mw_cfi_index_entry_t *entries, uint32_t count) {
	for (uint32_t i = count / 2; i-- > 0;)
		sift(entries, i, count);
	for (uint32_t last = count; last-- > 1;) {
		mw_cfi_index_entry_t largest = entries[0];
		entries[0] = entries[last];
		entries[last] = largest;
		sift(entries, 0, last);
	}
}

MW_COLD uint32_t mw_cfi_index_fill(const mw_cfi_area_t *frames, uintptr_t text_lo,
				   uintptr_t text_hi, mw_cfi_index_entry_t *entries,
				   uint32_t capacity) {
	uint32_t count = 0;
	bool is_sorted = true;
	const uint8_t *at = frames->lo, *fde_at;
	while (count < capacity && (fde_at = next_fde(frames, &at))) {
		mw_cfi_fde_t fde;
		if (!mw_cfi_parse(frames, fde_at, &fde) || fde.pc_lo < text_lo ||
		    fde.pc_hi > text_hi || fde.pc_lo == fde.pc_hi)
			continue;
		uintptr_t distance = fde.pc_lo - (uintptr_t)frames->lo + DISTANCE_BIAS;
		if (distance > UINT32_MAX)
			continue;
		entries[count] = (uint64_t)distance << 32 | (uint32_t)(fde_at - frames->lo);
		is_sorted &= count == 0 || entries[count - 1] <= entries[count];
		count++;
	}
	if (!is_sorted)
		sort(entries, count);
	return count;
}

const uint8_t *mw_cfi_index_search(const mw_cfi_area_t *frames, const mw_cfi_index_entry_t *entries,
				   uint32_t count, uintptr_t pc) {
	uintptr_t distance = pc - (uintptr_t)frames->lo + DISTANCE_BIAS;
	if (count == 0 || distance > UINT32_MAX)
		return NULL;
	/* The last function at or below pc, if there is one, is among the `left` entries from
	 * `first` on. */
	uint32_t first = 0;
	for (uint32_t left = count; left > 1;) {
		uint32_t half = left / 2;
		if (entries[first + half] >> 32 <= distance)
			first += half;
		left -= half;
	}
	return entries[first] >> 32 <= distance ? frames->lo + (uint32_t)entries[first] : NULL;
}
