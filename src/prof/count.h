/* SPDX-License-Identifier: MIT
 * count.h -- additions to counters of the tables.
 * Layer: prof. */
#ifndef MW_PROF_COUNT_H
#define MW_PROF_COUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* `alone`: no other thread can count.  A locked addition takes 5 ns, and a sample has some 46 of
 * them.
 */
MW_ALWAYS_INLINE void mw_count(char *base, size_t offset_bytes, int64_t delta, bool alone) {
	/* Plain or relaxed, as mw_twin_add(): one aligned word either way, never torn. */
	if (alone)
		*(int64_t *)(void *)(base + offset_bytes) += delta;
	else
		atomic_fetch_add_explicit((_Atomic int64_t *)(void *)(base + offset_bytes), delta,
					  memory_order_relaxed);
}

#endif
