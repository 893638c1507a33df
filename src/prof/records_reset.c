/* SPDX-License-Identifier: MIT
 * records_reset.c -- counters back to zero; few programs ever ask for it. */
#include <stdatomic.h>
#include <stddef.h>

#include "prof/count.h"
#include "prof/image.h"
#include "prof/records.h"
#include "prof/sizes.h"

static void clear_stack(uint64_t number) {
	static const size_t counters[] = {
		MW_STACK(live_objects_q16),      MW_STACK(live_bytes),
		MW_STACK(live_requested_bytes),  MW_STACK(live_zero_objects_q16),
		MW_STACK(alloc_objects_q16),     MW_STACK(alloc_bytes),
		MW_STACK(alloc_requested_bytes), MW_STACK(alloc_zero_objects_q16),
		MW_STACK(live_samples),          MW_STACK(alloc_samples),
		MW_STACK(peak_objects_q16),      MW_STACK(peak_bytes),
	};
	mw_twin_t twin = mw_image_twin(MW_SECTION_STACKS, number);
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		mw_twin_set64(twin, counters[i], 0);
	mw_twin_set32(twin, MW_STACK(peak_number), 0);
}

static void clear_lives(void) {
	uint64_t used = atomic_load_explicit(&mw_image_live()->lives_used, memory_order_relaxed);
	for (uint64_t i = 1; i < used; i++) {
		mw_twin_t twin = mw_image_twin(MW_SECTION_LIVES, i);
		for (size_t offset = 0; offset < sizeof(mw_state_life_t); offset += 8)
			mw_twin_set64(twin, offset, 0);
	}
}

void mw_records_reset(void) {
	mw_state_live_t *live = mw_image_live();
	mw_twin_t twin = mw_image_live_twin();
	/* Relaxed: nobody else writes it. */
	uint32_t generation = atomic_load_explicit(&live->generation, memory_order_relaxed);
	mw_twin_set32(twin, MW_LIVE(generation), generation + 1);
	uint64_t stacks = atomic_load_explicit(&live->stacks_used, memory_order_relaxed);
	for (uint64_t i = 0; i < stacks; i++)
		clear_stack(i);
	mw_twin_set64(twin, MW_LIVE(live_objects_q16), 0);
	mw_twin_set64(twin, MW_LIVE(live_bytes), 0);
	mw_twin_set64(twin, MW_LIVE(alloc_objects_q16), 0);
	mw_twin_set64(twin, MW_LIVE(alloc_bytes), 0);
	mw_twin_set64(twin, MW_LIVE(samples), 0);
	mw_twin_set32(twin, MW_LIVE(peak_number), 0);
	mw_twin_set64(twin, MW_LIVE(peak_bytes), 0);
	mw_twin_set64(twin, MW_LIVE(peak_realtime_ns), 0);
	clear_lives();
	mw_sizes_reset();
}
