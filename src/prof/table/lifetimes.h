/* SPDX-License-Identifier: MIT
 * lifetimes.h -- lifetime histogram of each stack, and counters of who frees its objects.
 * Layer: prof/table.  Called with the tables' lock (table_lock.h). */
#ifndef MW_PROF_TABLE_LIFETIMES_H
#define MW_PROF_TABLE_LIFETIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/store/store.h"

typedef struct mw_lifetime {
	int64_t objects_q16; /* objects that the freed sample represents, in 1/65536 */
	uint64_t lifetime_ns;
	bool other_thread; /* another thread freed the block than allocated it */
	bool temporary;    /* the thread allocated nothing else before the free */
} mw_lifetime_t;

/* Counts the free of a sample for its stack, whose entry `stack` is. Counts nothing when the
 * section is full. `base`: result of mw_published_base(). */
void mw_lifetimes_count(char *base, mw_both_t stack, const mw_lifetime_t *lifetimes);

#endif
