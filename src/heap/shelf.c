/* SPDX-License-Identifier: MIT
 * shelf.c -- fifteen words a class. */
#include "heap/shelf.h"

#include <stddef.h>

#include "base/compiler.h"
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

bool mw_shelf_put(unsigned size_class, void *first, uint32_t count) {
	shelf_t *shelf = &shelves[size_class];
	/* The flags are hints: a list put on a shelf that closes meanwhile is cleared later. */
	if (atomic_load_explicit(&shelf->closed, memory_order_relaxed))
		return false;
	if (MW_UNLIKELY(!atomic_load_explicit(&mw_shelf_used, memory_order_relaxed)))
		atomic_store_explicit(&mw_shelf_used, true, memory_order_relaxed);
	uint64_t word = (uint64_t)(uintptr_t)first << COUNT_BITS | count;
	for (unsigned i = 0; i < PLACES; i++) {
		uint64_t empty = 0;
		/* Release: the links; pairs with the exchange below. */
		if (atomic_load_explicit(&shelf->places[i], memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_strong_explicit(&shelf->places[i], &empty, word,
							    memory_order_release,
							    memory_order_relaxed))
			return true;
	}
	atomic_store_explicit(&shelf->closed, 1, memory_order_relaxed);
	return false;
}

uint32_t mw_shelf_clear_one(unsigned size_class, void **first) {
	shelf_t *shelf = &shelves[size_class];
	for (unsigned i = PLACES; i-- > 0;) {
		if (atomic_load_explicit(&shelf->places[i], memory_order_relaxed) == 0)
			continue;
		/* Acquire: the links. */
		uint64_t word =
			atomic_exchange_explicit(&shelf->places[i], 0, memory_order_acquire);
		if (word == 0)
			continue;
		*first = (void *)(uintptr_t)(word >> COUNT_BITS);
		return (uint32_t)(word & ((1u << COUNT_BITS) - 1));
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
