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

static unsigned parts_made(mw_index_t *index) {
	/* Pairs with the release in mw_index_make_part(). */
	return atomic_load_explicit(&index->made, memory_order_acquire);
}

/* Puts the entry into part `i`, or the next one that has room. */
static void put_from(mw_index_t *index, unsigned i, uint64_t hash, uint32_t number) {
	uint32_t word = mw_index_tag(hash) | number;
	unsigned made = parts_made(index);
	for (;; i++) {
		if (i >= made && (i > index->last || !mw_index_make_part(index, i)))
			return;
		if (put_in(atomic_load_explicit(&index->parts[i], memory_order_relaxed),
			   index->masks[i],
			   i == index->last ? MW_INDEX_PROBES_MAX : MW_INDEX_PROBES, hash, word))
			return;
	}
}

void mw_index_add(mw_index_t *index, uint64_t hash, uint32_t number) {
	unsigned made = parts_made(index);
	put_from(index, made > 2 ? made - 2 : 0, hash, number);
}

static void clear(mw_index_t *index) {
	for (unsigned i = 0; i < parts_made(index); i++) {
		_Atomic uint32_t *slots =
			atomic_load_explicit(&index->parts[i], memory_order_relaxed);
		/* The kernel may refuse to take pages back, as it does locked ones. */
		if (i > 0 && mw_os_purge((void *)(uintptr_t)slots, bytes_of(index, i)))
			continue;
		for (uint64_t k = 0; k <= index->masks[i]; k++)
			atomic_store_explicit(&slots[k], 0, memory_order_relaxed);
	}
}

/* Entries whose slots are prefetched before they are needed: each lies on a page of its own. */
#define AHEAD 16u

void mw_index_rebuild(mw_index_t *index, mw_index_kept_t kept, uint64_t (*hash)(uint32_t number)) {
	/* The smallest part that holds all entries, so that few pages are touched. */
	unsigned part = 0, made = parts_made(index);
	while (part + 1 < made && index->masks[part] < kept.count * SLOTS_PER_ENTRY)
		part++;
	clear(index);
	if (made == 0)
		return;
	const _Atomic uint32_t *slots =
		atomic_load_explicit(&index->parts[part], memory_order_relaxed);
	for (uint64_t i = 1; i < kept.used + AHEAD; i++) {
		if (i < kept.used && mw_index_is_kept(&kept, i))
			__builtin_prefetch(&slots[hash((uint32_t)i) & index->masks[part]], 1);
		if (i > AHEAD && mw_index_is_kept(&kept, i - AHEAD))
			put_from(index, part, hash((uint32_t)(i - AHEAD)), (uint32_t)(i - AHEAD));
	}
}

uint64_t mw_index_part(mw_index_t *index, unsigned part, uintptr_t *start) {
	*start = (uintptr_t)atomic_load_explicit(&index->parts[part], memory_order_relaxed);
	return *start ? bytes_of(index, part) : 0;
}

void mw_index_visit(mw_index_t *index, void (*see)(uintptr_t start, uintptr_t limit)) {
	for (unsigned part = 1; part <= index->last; part++) {
		uintptr_t start;
		uint64_t bytes = mw_index_part(index, part, &start);
		if (bytes)
			see(start, start + bytes);
	}
}
