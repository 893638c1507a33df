/* SPDX-License-Identifier: MIT
 * recall.c -- a direct-mapped table of two words an entry. */
#include "prof/recall.h"

#include <stdatomic.h>

#include "base/check.h"

/* 64 KiB, of which a small program uses the first, and one with some hundreds of stacks 8: each
 * size is left when as many entries were written over as it has. */
#define ENTRIES 4096u
#define MIDDLE_ENTRIES 512u
#define FIRST_ENTRIES 64u
/* The depot has 2^17 stacks at most (image.c); above the number stands a part of the key. */
#define NUMBER_BITS 17
#define NUMBER_MASK (((uint64_t)1 << NUMBER_BITS) - 1)

/* Both words must be of one key: of two halves of different entries no stack is made. */
static struct {
	_Atomic uint64_t high;
	_Atomic uint64_t low_and_number;
} entries[ENTRIES] MW_SPARSE;

/* Up to the number at which all entries are in use. */
static _Atomic uint32_t written_over;
#define ALL_FROM (FIRST_ENTRIES + MIDDLE_ENTRIES)

static unsigned place_of(mw_recall_key_t key) {
	/* Relaxed: what is not found is found in the depot. */
	uint32_t over = atomic_load_explicit(&written_over, memory_order_relaxed);
	unsigned entries_used = MW_LIKELY(over < FIRST_ENTRIES) ? FIRST_ENTRIES
				: over < ALL_FROM               ? MIDDLE_ENTRIES
								: ENTRIES;
	return (unsigned)(key.low >> NUMBER_BITS) & (entries_used - 1);
}

static mw_recall_key_t key_of(uint64_t state) {
	unsigned __int128 product = (unsigned __int128)state * 0x9e3779b97f4a7c15u;
	return (mw_recall_key_t){.high = state, .low = (uint64_t)(product >> 64)};
}

mw_recall_key_t mw_recall_key_by_sum(uint64_t sum, unsigned depth, uint64_t code) {
	return key_of(mw_recall_take_in(mw_recall_take_in(sum, depth), code));
}

mw_recall_key_t mw_recall_key(const uint64_t *frames, unsigned depth, bool truncated,
			      uint64_t code) {
	/* Irregular bits, of fractions of square roots, as above. */
	uint64_t first = 0xa54ff53a5f1d36f1u ^ depth ^ (uint64_t)truncated << 32;
	uint64_t second = 0x9b05688c2b3e6c1fu ^ code;
	/* Two chains: each link waits for a multiplication. */
	for (unsigned i = 0; i + 1 < depth; i += 2) {
		first = mw_recall_take_in(first, frames[i]);
		second = mw_recall_take_in(second, frames[i + 1]);
	}
	if (depth % 2)
		first = mw_recall_take_in(first, frames[depth - 1]);
	return key_of(mw_recall_take_in(first, second));
}

uint32_t mw_recall_find(mw_recall_key_t key) {
	unsigned i = place_of(key);
	/* Pairs with the release in mw_recall_put(): the stack's entry is complete. */
	uint64_t word = atomic_load_explicit(&entries[i].low_and_number, memory_order_acquire);
	if (atomic_load_explicit(&entries[i].high, memory_order_relaxed) != key.high ||
	    ((word ^ key.low) & ~NUMBER_MASK) != 0)
		return 0;
	return (uint32_t)(word & NUMBER_MASK);
}

void mw_recall_put(mw_recall_key_t key, uint32_t stack) {
	MW_ASSERT(stack <= NUMBER_MASK);
	unsigned i = place_of(key);
	uint64_t old = atomic_load_explicit(&entries[i].high, memory_order_relaxed);
	if (old != 0 && old != key.high &&
	    atomic_load_explicit(&written_over, memory_order_relaxed) < ALL_FROM) {
		atomic_fetch_add_explicit(&written_over, 1, memory_order_relaxed);
		i = place_of(key);
	}
	atomic_store_explicit(&entries[i].high, key.high, memory_order_relaxed);
	/* Pairs with the acquire in mw_recall_find(). */
	atomic_store_explicit(&entries[i].low_and_number, (key.low & ~NUMBER_MASK) | stack,
			      memory_order_release);
}
