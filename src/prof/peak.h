/* SPDX-License-Identifier: MIT
 * peak.h -- what every stack held when live bytes were at their highest, without copying them all.
 * Layer: prof.  Called in the caller's turn (gate.h).
 *
 * A new maximum only gets a number.  Whoever changes a stack's live counters first after that keeps
 * the old ones beside them (copy on change); in a stack nobody has changed since, the live counters
 * are those of the maximum. */
#ifndef MW_PROF_PEAK_H
#define MW_PROF_PEAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "prof/image.h"

/* The share by which a maximum must pass the last: 1/20.  Growth to 10 GiB from 1 MiB passes 190.
 */
#define MW_PEAK_STEP 20

/* Starts the maximum with this estimate of live bytes. */
void mw_peak_begin(mw_twin_t live, int64_t bytes);

/* After live bytes have grown. */
static inline void mw_peak_notice(mw_twin_t live) {
	const mw_state_live_t *image = (const mw_state_live_t *)(const void *)live.image;
	int64_t bytes = atomic_load_explicit(&image->live_bytes, memory_order_relaxed);
	int64_t last = atomic_load_explicit(&image->peak_bytes, memory_order_relaxed);
	if (MW_UNLIKELY(bytes > last) && bytes > last + last / MW_PEAK_STEP)
		mw_peak_begin(live, bytes);
}

void mw_peak_copy(char *image, char *mirror, uint32_t number);

/* Before a change of the live counters of a stack, both of whose sides are there, perhaps at the
 * same place. */
static inline void mw_peak_keep(char *image, char *mirror, uint32_t number) {
	const mw_state_stack_t *stack = (const mw_state_stack_t *)(const void *)image;
	uint32_t seen = atomic_load_explicit(&stack->peak_number, memory_order_relaxed);
	if (MW_UNLIKELY(number != seen))
		mw_peak_copy(image, mirror, number);
}

#endif
