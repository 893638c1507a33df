/* SPDX-License-Identifier: MIT
 * sizes.h -- counts a stack's allocations by the size of the objects.
 * Layer: prof/table.  Called with the tables' lock (table_lock.h).
 *
 * Most stacks allocate objects of one size. The stack's entry holds that first size, and the
 * stack's counters are then its counters by size. A sample of another size is counted a second
 * time, in an entry of its own. */
#ifndef MW_PROF_TABLE_SIZES_H
#define MW_PROF_TABLE_SIZES_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"
#include "prof/store/store.h"
#include "prof/table/records.h"

/* Counts a sample whose size is not the stack's first size. */
void mw_sizes_count_other(const mw_sample_t *sample);

/* Counts a sample of a stack. The function looks the entries up again, so that a caller need not
 * keep them in registers for the rare case. */
MW_ALWAYS_INLINE void mw_sizes_count(const mw_sample_t *sample) {
	const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, sample->stack);
	uint32_t first = atomic_load_explicit(&stack->first_size_bytes, memory_order_relaxed);
	if (MW_UNLIKELY(first != sample->usable_bytes))
		mw_sizes_count_other(sample);
}

/* Sets all counters to zero. Called with the tables quiesced. */
void mw_sizes_reset(void);

#endif
