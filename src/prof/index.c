/* SPDX-License-Identifier: MIT
 * index.c -- sizes of the parts, and their memory. */
#include "prof/index.h"

#include "base/check.h"
#include "os/map.h"

/* Slots for each entry of a full table: half full, runs stay short. */
#define SLOTS_PER_ENTRY 2u

void mw_index_start(mw_index_t *index, uint64_t capacity) {
	uint64_t most = capacity * SLOTS_PER_ENTRY, slots = (uint64_t)1 << MW_INDEX_FIRST_LOG2;
	MW_ASSERT(most >= slots && capacity <= (uint64_t)1 << MW_INDEX_NUMBER_BITS);
	unsigned i = 0;
	for (; slots < most && i < MW_INDEX_PARTS - 1; slots <<= MW_INDEX_GROWTH_LOG2)
		index->masks[i++] = (uint32_t)(slots - 1);
	index->masks[i] = (uint32_t)(most - 1);
	index->last = i;
}

static uint64_t bytes_of(const mw_index_t *index, unsigned part) {
	return ((uint64_t)index->masks[part] + 1) * sizeof(uint32_t);
}

_Atomic uint32_t *mw_index_make_part(mw_index_t *index, unsigned part) {
	_Atomic uint32_t *slots = part ? mw_os_map(bytes_of(index, part)) : index->first;
	_Atomic uint32_t *others = NULL;
	if (!slots)
		return NULL;
	/* Pairs with the acquire in mw_index_find(): an empty part, as the kernel made it. */
	if (atomic_compare_exchange_strong_explicit(&index->parts[part], &others, slots,
						    memory_order_acq_rel, memory_order_acquire))
		return slots;
	if (part)
		mw_os_unmap((void *)(uintptr_t)slots, bytes_of(index, part));
	return others;
}

uint64_t mw_index_part(mw_index_t *index, unsigned part, uintptr_t *start) {
	*start = (uintptr_t)atomic_load_explicit(&index->parts[part], memory_order_relaxed);
	return *start ? bytes_of(index, part) : 0;
}
