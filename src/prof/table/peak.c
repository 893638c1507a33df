/* SPDX-License-Identifier: MIT
 * peak.c -- numbers the maxima and copies counters. */
#include "prof/table/peak.h"

_Atomic bool mw_peak_has_copies;

void mw_peak_next(mw_both_t live) {
	const mw_state_live_t *table = (const mw_state_live_t *)(const void *)live.table;
	uint32_t number = atomic_load_explicit(&table->peak_number, memory_order_relaxed) + 1;
	/* 0 means that there is no maximum yet, so the number skips 0 after 2^32 maxima. */
	mw_both_set32(live, MW_LIVE(peak_number), number != 0 ? number : 1);
	atomic_store_explicit(&mw_peak_has_copies, false, memory_order_relaxed);
}

void mw_peak_copy(char *table, char *published, uint32_t number) {
	mw_both_t stack = {.table = table, .published = published};
	const mw_state_stack_t *entry = (const mw_state_stack_t *)(const void *)table;
	int64_t objects_q16 = atomic_load_explicit(&entry->live_objects_q16, memory_order_relaxed);
	int64_t bytes = atomic_load_explicit(&entry->live_bytes, memory_order_relaxed);
	mw_both_set32(stack, MW_STACK(peak_number), number);
	mw_both_set64(stack, MW_STACK(peak_objects_q16), (uint64_t)objects_q16);
	mw_both_set64(stack, MW_STACK(peak_bytes), (uint64_t)bytes);
	atomic_store_explicit(&mw_peak_has_copies, true, memory_order_relaxed);
}
