/* SPDX-License-Identifier: MIT
 * peak.h -- live counters of every stack at the moment when live bytes were at their maximum.
 * Layer: prof/table.  Called with the tables' lock (table_lock.h).
 *
 * The peak is exact: every new maximum counts. The counters are copied on change. While live bytes
 * rise from one maximum to the next, nothing is copied, because each stack's live counters are
 * those of the maximum. The first later change of a stack copies the stack's old counters, with the
 * number of the maximum. The next maximum raises the number, which makes all copies out of date. */
#ifndef MW_PROF_TABLE_PEAK_H
#define MW_PROF_TABLE_PEAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "prof/store/store.h"

/* true: a stack has a copy with the current number. Only the functions of peak.h write it. */
extern _Atomic bool mw_peak_has_copies;

/* Returns whether live bytes exceed their maximum when `added_bytes` are added. */
static inline bool mw_peak_is_passed(mw_both_t live, int64_t added_bytes) {
	const mw_state_live_t *table = (const mw_state_live_t *)(const void *)live.table;
	return atomic_load_explicit(&table->live_bytes, memory_order_relaxed) + added_bytes >
	       atomic_load_explicit(&table->peak_bytes, memory_order_relaxed);
}

/* Raises the number of the maximum. */
MW_COLD void mw_peak_next(mw_both_t live);

/* Records a new maximum of live bytes. `time_ns`: time of the sample, CLOCK_MONOTONIC. */
static inline void mw_peak_rise(mw_both_t live, uint64_t time_ns) {
	const mw_state_live_t *table = (const mw_state_live_t *)(const void *)live.table;
	int64_t bytes = atomic_load_explicit(&table->live_bytes, memory_order_relaxed);
	mw_both_set64(live, MW_LIVE(peak_bytes), (uint64_t)bytes);
	mw_both_set64(live, MW_LIVE(peak_monotonic_ns), time_ns);
	if (MW_UNLIKELY(atomic_load_explicit(&mw_peak_has_copies, memory_order_relaxed)) ||
	    MW_UNLIKELY(atomic_load_explicit(&table->peak_number, memory_order_relaxed) == 0))
		mw_peak_next(live);
}

/* Copies the stack's live counters and stores the number of the maximum with them. */
void mw_peak_copy(char *table, char *published, uint32_t number);

/* Called before a change of a stack's live counters that is no new maximum. `table` and `published`
 * are the stack's two entries, or the same entry twice. */
static inline void mw_peak_keep(char *table, char *published, uint32_t number) {
	const mw_state_stack_t *stack = (const mw_state_stack_t *)(const void *)table;
	uint32_t seen = atomic_load_explicit(&stack->peak_number, memory_order_relaxed);
	if (MW_UNLIKELY(number != seen))
		mw_peak_copy(table, published, number);
}

#endif
