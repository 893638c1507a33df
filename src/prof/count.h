/* SPDX-License-Identifier: MIT
 * count.h -- additions to counters of the tables.
 * Layer: prof. */
#ifndef MW_PROF_COUNT_H
#define MW_PROF_COUNT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/arch.h"
#include "prof/image.h"

/* In the caller's turn (gate.h): nobody else writes meanwhile.  Relaxed, so that a reader sees no
 * half of a word.  Returns the sum, for the mirror. */
MW_ALWAYS_INLINE int64_t mw_count(char *base, size_t offset_bytes, int64_t delta) {
	_Atomic int64_t *word = (_Atomic int64_t *)(void *)(base + offset_bytes);
	int64_t sum = atomic_load_explicit(word, memory_order_relaxed) + delta;
	atomic_store_explicit(word, sum, memory_order_relaxed);
	return sum;
}

/* The same of two neighbours. */
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

/* An entry's two sides.  Without a mirror the second is the image's, too, which is written twice.
 * Inlined, and by value, so that all of it stays in registers. */
typedef struct mw_sides {
	char *image, *mirror;
} mw_sides_t;

MW_ALWAYS_INLINE mw_sides_t mw_sides_of(mw_twin_t twin) {
	return (mw_sides_t){.image = twin.image, .mirror = twin.mirror ? twin.mirror : twin.image};
}

MW_ALWAYS_INLINE void mw_sides_add(mw_sides_t to, size_t offset_bytes, int64_t delta) {
	mw_count_set(to.mirror, offset_bytes, mw_count(to.image, offset_bytes, delta));
}

MW_ALWAYS_INLINE void mw_sides_add_pair(mw_sides_t to, size_t offset_bytes, mw_os_pair_t delta) {
	mw_count_set_pair(to.mirror, offset_bytes, mw_count_pair(to.image, offset_bytes, delta));
}

#endif
