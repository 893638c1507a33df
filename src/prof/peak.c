/* SPDX-License-Identifier: MIT
 * peak.c -- numbering maxima, and the copies. */
#include "prof/peak.h"

#include "os/clock.h"

void mw_peak_begin(mw_twin_t live, int64_t bytes) {
	const mw_state_live_t *image = (const mw_state_live_t *)(const void *)live.image;
	mw_twin_set64(live, MW_LIVE(peak_bytes), (uint64_t)bytes);
	mw_twin_set64(live, MW_LIVE(peak_realtime_ns), mw_os_realtime_coarse_ns());
	uint32_t number = atomic_load_explicit(&image->peak_number, memory_order_relaxed);
	mw_twin_set32(live, MW_LIVE(peak_number), number + 1);
}

void mw_peak_copy(char *image, char *mirror, uint32_t number) {
	mw_twin_t stack = {.image = image, .mirror = mirror};
	const mw_state_stack_t *entry = (const mw_state_stack_t *)(const void *)image;
	int64_t objects_q16 = atomic_load_explicit(&entry->live_objects_q16, memory_order_relaxed);
	int64_t bytes = atomic_load_explicit(&entry->live_bytes, memory_order_relaxed);
	mw_twin_set32(stack, MW_STACK(peak_number), number);
	mw_twin_set64(stack, MW_STACK(peak_objects_q16), (uint64_t)objects_q16);
	mw_twin_set64(stack, MW_STACK(peak_bytes), (uint64_t)bytes);
}
