/* SPDX-License-Identifier: MIT
 * index.h -- maps a hash to the number of an entry in a table.
 * Layer: prof/store. Open addressing, lock-free, single entries are never removed. The memory is
 * private; a forked child has a copy.
 *
 * The index has parts, each four times the size of the one before, so that few entries touch few
 * pages. A hash has a run of slots in each part. When the run is full, the entry goes into the next
 * part. Slots are never emptied, so a search of a part ends at the first empty slot. A slot holds
 * bits of the hash beside the number, so that entries of other hashes are rarely compared. */
#ifndef MW_PROF_STORE_INDEX_H
#define MW_PROF_STORE_INDEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Binary logarithm of the first part's slots. The first part lies in the index itself; others are
 * mapped when needed. */
#define MW_INDEX_FIRST_LOG2 8u
#define MW_INDEX_GROWTH_LOG2 2u
#define MW_INDEX_PARTS 9u
/* Longest run in parts other than the last, so that a search of them is short. */
#define MW_INDEX_PROBES 4u
/* Longest run in the last part. If a run of a half-full part is longer, the index counts as
 * full. */
#define MW_INDEX_PROBES_MAX 256u

/* Low bits of a slot: the entry's number. The other bits are hash bits that do not select the
 * slot. */
#define MW_INDEX_NUMBER_BITS 22u
#define MW_INDEX_NUMBER_MASK (((uint32_t)1 << MW_INDEX_NUMBER_BITS) - 1)

/* Returns the hash's bits for a slot: the highest ones, because the lowest select the slot. */
static inline uint32_t mw_index_tag(uint64_t hash) {
	return (uint32_t)(hash >> 32) & ~MW_INDEX_NUMBER_MASK;
}

typedef struct mw_index {
	_Atomic uint32_t first[1u << MW_INDEX_FIRST_LOG2]; /* 0: empty */
	_Atomic(_Atomic uint32_t *) parts[MW_INDEX_PARTS]; /* NULL: not mapped yet */
	uint32_t masks[MW_INDEX_PARTS];                    /* slots - 1 */
	unsigned last;                                     /* number of the last part */
	_Atomic unsigned made; /* number of parts that are mapped, from the first on */
} mw_index_t;

/* Initialises a zeroed index for up to `capacity` entries, a power of two, 128 .. 2^22. */
void mw_index_start(mw_index_t *index, uint64_t capacity);
/* Initializer for a capacity of 8192. */
#define MW_INDEX_OF_8192                                                                           \
	{ .masks = {(1u << 8) - 1, (1u << 11) - 1, (1u << 14) - 1}, .last = 2 }
/* Returns the bytes of a part, which begins at *start; 0: the part is not mapped. */
uint64_t mw_index_part(mw_index_t *index, unsigned part, uintptr_t *start);
/* Passes the address range of each mapped part but the first, which lies in the index itself. */
MW_COLD void mw_index_visit(mw_index_t *index, void (*see)(uintptr_t start, uintptr_t limit));

/* Maps the next part. Returns false if refused. */
bool mw_index_make_part(mw_index_t *index, unsigned part);

/* How a key is compared with an entry, and how a new entry is made (result 0: no room). */
typedef struct mw_index_kind {
	bool (*is_same)(const void *thing, uint32_t number);
	uint32_t (*append)(const void *thing);
} mw_index_kind_t;

/* Searches the hash's run in one part. Returns the entry's number, or 0. *empty: the empty slot
 * that ends the run, if there is one. */
MW_ALWAYS_INLINE uint32_t mw_index_look_in(_Atomic uint32_t *slots, uint32_t mask, unsigned probes,
					   uint64_t hash, const void *thing, mw_index_kind_t kind,
					   _Atomic uint32_t **empty) {
	uint32_t tag = mw_index_tag(hash);
	for (unsigned probe = 0; probe < probes; probe++) {
		_Atomic uint32_t *slot = &slots[(hash + probe) & mask];
		/* Pairs with the release in mw_index_find(): the entry is complete. */
		uint32_t word = atomic_load_explicit(slot, memory_order_acquire);
		if (word == 0) {
			*empty = slot;
			return 0;
		}
		uint32_t number = word & MW_INDEX_NUMBER_MASK;
		if ((word & ~MW_INDEX_NUMBER_MASK) == tag && kind.is_same(thing, number))
			return number;
	}
	return 0;
}

/* Adds an entry that is not in the index. It goes into one of the two largest parts, without a
 * search of the others. An entry for which there is no room is left out: its key is not found
 * again. */
void mw_index_add(mw_index_t *index, uint64_t hash, uint32_t number);

/* Entries of a table that stay: the entries i in 1 .. used - 1 whose bit i % 64 of bits[i / 64] is
 * 1. */
typedef struct mw_index_kept {
	const uint64_t *bits;
	uint64_t used;
	uint64_t count; /* bits that are 1 */
} mw_index_kept_t;

static inline bool mw_index_is_kept(const mw_index_kept_t *kept, uint64_t number) {
	return kept->bits[number / 64] >> number % 64 & 1;
}

/* Removes all entries but these, whose hashes the function returns. Called while no other thread
 * uses the index; a thread that does all the same may miss entries. */
void mw_index_rebuild(mw_index_t *index, mw_index_kept_t kept, uint64_t (*hash)(uint32_t number));

/* Prefetches the hash's slots in the two largest parts, where most entries are. */
static inline void mw_index_prefetch(const mw_index_t *index, uint64_t hash) {
	unsigned made = atomic_load_explicit(&index->made, memory_order_acquire);
	for (unsigned i = made > 2 ? made - 2 : 0; i < made; i++) {
		_Atomic uint32_t *slots =
			atomic_load_explicit(&index->parts[i], memory_order_relaxed);
		__builtin_prefetch(&slots[hash & index->masks[i]], 1);
	}
}

/* Returns the number of the key's entry, which is made if it is new; 0: no room. `kind` is a
 * constant, so that the compiler inlines its functions. The largest part is searched first, because
 * most entries are there. A new entry goes into the smallest part with room, so that few pages are
 * touched. A slot never becomes empty again: if two threads add the same key, one exchange fails,
 * and that thread finds the other's entry in its next search. */
MW_ALWAYS_INLINE uint32_t mw_index_find(mw_index_t *index, uint64_t hash, const void *thing,
					mw_index_kind_t kind) {
	uint32_t added = 0;
	for (;;) {
		_Atomic uint32_t *empty = NULL;
		/* Pairs with the release in mw_index_make_part(). */
		unsigned made = atomic_load_explicit(&index->made, memory_order_acquire);
		for (unsigned i = made; i-- > 0;) {
			uint32_t number = mw_index_look_in(
				atomic_load_explicit(&index->parts[i], memory_order_relaxed),
				index->masks[i],
				i == index->last ? MW_INDEX_PROBES_MAX : MW_INDEX_PROBES, hash,
				thing, kind, &empty);
			if (number)
				return number;
		}
		if (!empty) {
			if (made > index->last || !mw_index_make_part(index, made))
				return 0;
			continue;
		}
		if (!added && !(added = kind.append(thing)))
			return 0;
		uint32_t none = 0;
		if (atomic_compare_exchange_strong_explicit(
			    empty, &none, mw_index_tag(hash) | added, memory_order_release,
			    memory_order_relaxed))
			return added;
	}
}

#endif
