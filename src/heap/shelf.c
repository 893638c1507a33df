/* SPDX-License-Identifier: MIT
 * shelf.c -- fifteen words a class. */
#include "heap/shelf.h"

#include <stddef.h>

#include "base/compiler.h"
#include "heap/harden.h"
#include "heap/size_class.h"

/* With the state word, two cache lines. */
#define PLACES 15u
#define COUNT_BITS 16u

typedef struct shelf {
	_Alignas(2 * MW_CACHE_LINE_BYTES) _Atomic uint64_t closed;
	_Atomic uint64_t places[PLACES];
} shelf_t;

_Static_assert(sizeof(shelf_t) == 2 * MW_CACHE_LINE_BYTES, "two lines a class");

_Atomic bool mw_shelf_used;
static shelf_t shelves[MW_TINY_CLASSES];

static uint32_t count_of(uint64_t word) {
	return (uint32_t)(word & ((1u << COUNT_BITS) - 1));
}

static uint64_t look(shelf_t *shelf, unsigned i) {
	return atomic_load_explicit(&shelf->places[i], memory_order_relaxed);
}

static uint32_t take(shelf_t *shelf, unsigned i, void **first) {
	/* Acquire: the links. */
	uint64_t word = atomic_exchange_explicit(&shelf->places[i], 0, memory_order_acquire);
	*first = (void *)(uintptr_t)(word >> COUNT_BITS);
	return count_of(word);
}

static bool put_into_empty(shelf_t *shelf, const mw_shelf_list_t *list) {
	uint64_t word = (uint64_t)(uintptr_t)list->first << COUNT_BITS | list->count;
	for (unsigned i = 0; i < PLACES; i++) {
		uint64_t empty = 0;
		/* Release: the links; pairs with take(). */
		if (look(shelf, i) == 0 && atomic_compare_exchange_strong_explicit(
						   &shelf->places[i], &empty, word,
						   memory_order_release, memory_order_relaxed))
			return true;
	}
	return false;
}

/* Takes a list that leaves room for this one, and joins it to this one's end.  False: there is
 * none. */
static bool join(shelf_t *shelf, unsigned size_class, mw_shelf_list_t *list) {
	uint32_t most = MW_SHELF_LIST_BYTES / mw_class_bytes[size_class];
	for (unsigned i = 0; i < PLACES; i++) {
		uint64_t word = look(shelf, i);
		if (word == 0 || count_of(word) + list->count > most)
			continue;
		/* Another list than the one that was seen, or none, is as good. */
		void *first;
		uint32_t count = take(shelf, i, &first);
		if (count > 0) {
			mw_link_set(list->last, first);
			list->last = NULL;
			list->count += count;
		}
		return true;
	}
	return false;
}

bool mw_shelf_put(unsigned size_class, mw_shelf_list_t *list) {
	shelf_t *shelf = &shelves[size_class];
	/* The flags are hints: a list put on a shelf that closes meanwhile is cleared later. */
	if (atomic_load_explicit(&shelf->closed, memory_order_relaxed))
		return false;
	if (MW_UNLIKELY(!atomic_load_explicit(&mw_shelf_used, memory_order_relaxed)))
		atomic_store_explicit(&mw_shelf_used, true, memory_order_relaxed);
	if (put_into_empty(shelf, list) ||
	    (list->last && join(shelf, size_class, list) && put_into_empty(shelf, list)))
		return true;
	atomic_store_explicit(&shelf->closed, 1, memory_order_relaxed);
	return false;
}

uint32_t mw_shelf_clear_one(unsigned size_class, void **first) {
	shelf_t *shelf = &shelves[size_class];
	for (unsigned i = PLACES; i-- > 0;) {
		if (look(shelf, i) == 0)
			continue;
		uint32_t count = take(shelf, i, first);
		if (count > 0)
			return count;
	}
	return 0;
}

uint32_t mw_shelf_take_slow(unsigned size_class, void **first) {
	uint32_t count = mw_shelf_clear_one(size_class, first);
	shelf_t *shelf = &shelves[size_class];
	if (count == 0 && atomic_load_explicit(&shelf->closed, memory_order_relaxed))
		atomic_store_explicit(&shelf->closed, 0, memory_order_relaxed);
	return count;
}
