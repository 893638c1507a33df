/* SPDX-License-Identifier: MIT
 * count.h -- adds to counters of the tables.
 * Layer: prof/store. */
#ifndef MW_PROF_STORE_COUNT_H
#define MW_PROF_STORE_COUNT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/platform/arch.h"
#include "prof/store/store.h"

/* Adds to one counter. Called with the tables' lock (table_lock.h), so there is one writer.
 * Relaxed: a reader sees a whole word. Returns the sum, for the published copy. */
MW_ALWAYS_INLINE int64_t mw_count(char *base, size_t offset_bytes, int64_t delta) {
	_Atomic int64_t *word = (_Atomic int64_t *)(void *)(base + offset_bytes);
	int64_t sum = atomic_load_explicit(word, memory_order_relaxed) + delta;
	atomic_store_explicit(word, sum, memory_order_relaxed);
	return sum;
}

/* Like mw_count(), for two neighbouring counters. */
MW_ALWAYS_INLINE mw_os_pair_t mw_count_pair(char *base, size_t offset_bytes, mw_os_pair_t delta) {
	return mw_os_pair_add((mw_os_pair_t *)(void *)(base + offset_bytes), delta);
}

MW_ALWAYS_INLINE void mw_count_set(char *base, size_t offset_bytes, int64_t sum) {
	atomic_store_explicit((_Atomic int64_t *)(void *)(base + offset_bytes), sum,
			      memory_order_relaxed);
}

MW_ALWAYS_INLINE void mw_count_set_pair(char *base, size_t offset_bytes, mw_os_pair_t sums) {
	mw_os_pair_set((mw_os_pair_t *)(void *)(base + offset_bytes), sums);
}

/* Pointers to an entry in both copies. Without a published copy, `published` is the private entry,
 * which is then written twice. Passed by value to inlined functions, so that all stays in
 * registers. */
typedef struct mw_sides {
	char *table, *published;
} mw_sides_t;

MW_ALWAYS_INLINE mw_sides_t mw_sides_of(mw_both_t both) {
	return (mw_sides_t){.table = both.table,
			    .published = both.published ? both.published : both.table};
}

MW_ALWAYS_INLINE void mw_sides_add(mw_sides_t to, size_t offset_bytes, int64_t delta) {
	mw_count_set(to.published, offset_bytes, mw_count(to.table, offset_bytes, delta));
}

MW_ALWAYS_INLINE void mw_sides_add_pair(mw_sides_t to, size_t offset_bytes, mw_os_pair_t delta) {
	mw_count_set_pair(to.published, offset_bytes, mw_count_pair(to.table, offset_bytes, delta));
}

#endif
