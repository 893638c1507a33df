/* SPDX-License-Identifier: MIT
 * index.h -- from the hash of a thing to the number of its entry in a table that only grows.
 * Layer: prof.  Open addressing, lock-free, entries are never removed.  Private memory, in the
 * child of a fork a copy.
 *
 * The index has parts, each four times the one before: few entries touch few pages, where hashes
 * would scatter them over all.  A part is passed over when its run of the hash is full; slots are
 * never emptied, so an entry is always met before the first empty one.  A slot holds some bits of
 * the hash beside the number, so that entries of other hashes are rarely looked at. */
#ifndef MW_PROF_INDEX_H
#define MW_PROF_INDEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* The first part lies in the index itself, the others are mapped when they are needed. */
#define MW_INDEX_FIRST_LOG2 8u
#define MW_INDEX_GROWTH_LOG2 2u
#define MW_INDEX_PARTS 9u
/* In parts that are not the last, so that many entries do not pay much for them. */
#define MW_INDEX_PROBES 4u
/* A longer run than this in a last part that is half full is as good as "full". */
#define MW_INDEX_PROBES_MAX 256u

/* Of a slot: the entry's number, below bits of its hash that do not choose the slot. */
#define MW_INDEX_NUMBER_BITS 22u
#define MW_INDEX_NUMBER_MASK (((uint32_t)1 << MW_INDEX_NUMBER_BITS) - 1)

typedef struct mw_index {
	_Atomic uint32_t first[1u << MW_INDEX_FIRST_LOG2]; /* 0: empty */
	_Atomic(_Atomic uint32_t *) parts[MW_INDEX_PARTS]; /* NULL: not mapped yet */
	uint32_t masks[MW_INDEX_PARTS];                    /* slots - 1 */
	unsigned last;                                     /* part */
} mw_index_t;

/* For tables of up to `capacity` entries, a power of two, 128 .. 2^22.  The index was zero. */
void mw_index_start(mw_index_t *index, uint64_t capacity);
/* The same for a capacity of 8192, as an initializer. */
#define MW_INDEX_OF_8192                                                                           \
	{ .masks = {(1u << 8) - 1, (1u << 11) - 1, (1u << 14) - 1}, .last = 2 }
/* Bytes of a part, which begins at *start; 0: not there (yet). */
uint64_t mw_index_part(mw_index_t *index, unsigned part, uintptr_t *start);

/* Makes a part that is not there yet; NULL: refused. */
_Atomic uint32_t *mw_index_make_part(mw_index_t *index, unsigned part);

/* How a thing is told from others of its hash, and its entry made: 0 when there is no room. */
typedef struct mw_index_kind {
	bool (*is_same)(const void *thing, uint32_t number);
	uint32_t (*append)(const void *thing);
} mw_index_kind_t;

/* Looks through the hash's run in one part.  *added: the entry made for the thing; another thread
 * may have added the same one first, whose entry counts then, and ours is never referred to. */
MW_ALWAYS_INLINE uint32_t mw_index_find_in(_Atomic uint32_t *slots, uint32_t mask, unsigned probes,
					   uint64_t hash, const void *thing, mw_index_kind_t kind,
					   uint32_t *added, bool *is_full) {
	/* The highest bits: a slot is chosen by the lowest. */
	uint32_t tag = (uint32_t)(hash >> 32) & ~MW_INDEX_NUMBER_MASK;
	for (unsigned probe = 0; probe < probes; probe++) {
		_Atomic uint32_t *slot = &slots[(hash + probe) & mask];
		/* Pairs with the release of the exchange below: the entry is complete. */
		uint32_t word = atomic_load_explicit(slot, memory_order_acquire);
		if (word == 0) {
			if (!*added)
				*added = kind.append(thing);
			*is_full = !*added;
			if (*is_full)
				return 0;
			if (atomic_compare_exchange_strong_explicit(slot, &word, tag | *added,
								    memory_order_release,
								    memory_order_acquire))
				return *added;
		}
		uint32_t number = word & MW_INDEX_NUMBER_MASK;
		if ((word & ~MW_INDEX_NUMBER_MASK) == tag && kind.is_same(thing, number))
			return number;
	}
	return 0;
}

/* The thing's number; its entry is made when it is new.  0: no room.  `kind` is a constant, so that
 * its functions are called directly. */
MW_ALWAYS_INLINE uint32_t mw_index_find(mw_index_t *index, uint64_t hash, const void *thing,
					mw_index_kind_t kind) {
	uint32_t added = 0, number = 0;
	bool is_full = false;
	for (unsigned i = 0; i <= index->last && !number && !is_full; i++) {
		/* Pairs with the release in mw_index_make_part(). */
		_Atomic uint32_t *slots =
			atomic_load_explicit(&index->parts[i], memory_order_acquire);
		if (MW_UNLIKELY(!slots) && !(slots = mw_index_make_part(index, i)))
			return 0;
		number = mw_index_find_in(slots, index->masks[i],
					  i == index->last ? MW_INDEX_PROBES_MAX : MW_INDEX_PROBES,
					  hash, thing, kind, &added, &is_full);
	}
	return number;
}

#endif
