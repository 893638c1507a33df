/* SPDX-License-Identifier: MIT
 * index.c -- computes the sizes of an index's parts and maps them. */
#include "prof/store/index.h"

#include "base/check.h"
#include "os/memory/map.h"

/* Slots per entry: a full table is half full, and runs stay short. */
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

bool mw_index_make_part(mw_index_t *index, unsigned part) {
	_Atomic uint32_t *slots = part ? mw_os_map(bytes_of(index, part)) : index->first;
	_Atomic uint32_t *others = NULL;
	if (!slots)
		return false;
	if (!atomic_compare_exchange_strong_explicit(&index->parts[part], &others, slots,
						     memory_order_relaxed, memory_order_relaxed) &&
	    part)
		mw_os_unmap((void *)(uintptr_t)slots, bytes_of(index, part));
	/* Pairs with the acquire in mw_index_find(): the part is mapped. If another thread has
	 * mapped further parts meanwhile, the number is not changed. */
	unsigned made = part;
	atomic_compare_exchange_strong_explicit(&index->made, &made, part + 1, memory_order_release,
						memory_order_relaxed);
	return true;
}

/* Puts the word into the first empty slot of the hash's run. Returns false if there is none. */
static bool put_in(_Atomic uint32_t *slots, uint32_t mask, unsigned probes, uint64_t hash,
		   uint32_t word) {
	for (unsigned probe = 0; probe < probes; probe++) {
		uint32_t none = 0;
		_Atomic uint32_t *slot = &slots[(hash + probe) & mask];
		/* Pairs with the acquire in mw_index_look_in(): the entry is complete. */
		if (atomic_load_explicit(slot, memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_strong_explicit(slot, &none, word, memory_order_release,
							    memory_order_relaxed))
			return true;
	}
	return false;
}

void mw_index_add(mw_index_t *index, uint64_t hash, uint32_t number) {
	uint32_t word = mw_index_tag(hash) | number;
	/* Pairs with the release in mw_index_make_part(). */
	unsigned made = atomic_load_explicit(&index->made, memory_order_acquire);
	for (unsigned i = made > 2 ? made - 2 : 0;; i++) {
		if (i >= made && (i > index->last || !mw_index_make_part(index, i)))
			return;
		if (put_in(atomic_load_explicit(&index->parts[i], memory_order_relaxed),
			   index->masks[i],
			   i == index->last ? MW_INDEX_PROBES_MAX : MW_INDEX_PROBES, hash, word))
			return;
	}
}

uint64_t mw_index_part(mw_index_t *index, unsigned part, uintptr_t *start) {
	*start = (uintptr_t)atomic_load_explicit(&index->parts[part], memory_order_relaxed);
	return *start ? bytes_of(index, part) : 0;
}
