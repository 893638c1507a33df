/* SPDX-License-Identifier: MIT
 * sizes.h -- what a stack has allocated, by the size of the objects.
 * Layer: prof.  Called in the caller's turn (gate.h).
 *
 * Most stacks make objects of one size.  That is kept in the stack, whose counters are then all
 * there is to know; only a sample of another size is counted a second time, in an entry of its own.
 */
#ifndef MW_PROF_SIZES_H
#define MW_PROF_SIZES_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"
#include "prof/image.h"
#include "prof/records.h"

/* A sample that is not of the stack's first size. */
void mw_sizes_count_other(const mw_sample_t *sample);

/* Counts a sample of a stack.  What it needs is looked up again, so that nothing has to be kept for
 * it where there is nothing to do. */
MW_ALWAYS_INLINE void mw_sizes_count(const mw_sample_t *sample) {
	const mw_state_stack_t *stack = mw_image_entry(MW_SECTION_STACKS, sample->stack);
	uint32_t first = atomic_load_explicit(&stack->first_size_bytes, memory_order_relaxed);
	if (MW_UNLIKELY(first != sample->usable_bytes))
		mw_sizes_count_other(sample);
}

/* All to zero; with the gate closed. */
void mw_sizes_reset(void);

#endif
