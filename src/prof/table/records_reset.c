/* SPDX-License-Identifier: MIT
 * records_reset.c -- sets the counters to zero. A file of its own, because few programs need it. */
#include <stdatomic.h>
#include <stddef.h>

#include "prof/store/count.h"
#include "prof/store/store.h"
#include "prof/table/records.h"
#include "prof/table/sizes.h"

static void clear_stack(uint64_t number) {
	static const size_t counters[] = {
		MW_STACK(live_objects_q16),      MW_STACK(live_bytes),
		MW_STACK(live_requested_bytes),  MW_STACK(live_zero_objects_q16),
		MW_STACK(alloc_objects_q16),     MW_STACK(alloc_bytes),
		MW_STACK(alloc_requested_bytes), MW_STACK(alloc_zero_objects_q16),
		MW_STACK(live_samples),          MW_STACK(alloc_samples),
		MW_STACK(peak_objects_q16),      MW_STACK(peak_bytes),
	};
	mw_both_t both = mw_store_both(MW_SECTION_STACKS, number);
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		mw_both_set64(both, counters[i], 0);
	mw_both_set32(both, MW_STACK(peak_number), 0);
}

static void clear_lifetimes(void) {
	uint64_t used =
		atomic_load_explicit(&mw_store_live()->lifetimes_used, memory_order_acquire);
	for (uint64_t i = 1; i < used; i++) {
		mw_both_t both = mw_store_both(MW_SECTION_LIFETIMES, i);
		for (size_t offset = 0; offset < sizeof(mw_state_lifetimes_t); offset += 8)
			mw_both_set64(both, offset, 0);
	}
}

void mw_records_reset(void) {
	mw_state_live_t *live = mw_store_live();
	mw_both_t both = mw_store_live_both();
	/* Relaxed: no other thread writes the generation while the tables are quiesced. */
	uint32_t generation = atomic_load_explicit(&live->generation, memory_order_relaxed);
	mw_both_set32(both, MW_LIVE(generation), generation + 1);
	uint64_t stacks = atomic_load_explicit(&live->stacks_used, memory_order_acquire);
	for (uint64_t i = 0; i < stacks; i++)
		clear_stack(i);
	mw_both_set64(both, MW_LIVE(live_objects_q16), 0);
	mw_both_set64(both, MW_LIVE(live_bytes), 0);
	mw_both_set64(both, MW_LIVE(alloc_objects_q16), 0);
	mw_both_set64(both, MW_LIVE(alloc_bytes), 0);
	mw_both_set64(both, MW_LIVE(samples), 0);
	mw_both_set32(both, MW_LIVE(peak_number), 0);
	mw_both_set64(both, MW_LIVE(peak_bytes), 0);
	mw_both_set64(both, MW_LIVE(peak_monotonic_ns), 0);
	clear_lifetimes();
	mw_sizes_reset();
}

MW_COLD void mw_records_exempt(mw_record_id_t record, bool on) {
	mw_state_record_t *entry = mw_store_private(MW_SECTION_RECORDS, record);
	if (record != 0 && entry->stack != MW_RECORD_FREE)
		atomic_store_explicit((_Atomic uint64_t *)&entry->reserved,
				      on ? MW_RECORD_EXEMPT : 0, memory_order_relaxed);
}
