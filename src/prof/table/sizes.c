/* SPDX-License-Identifier: MIT
 * sizes.c -- a list of entries for each stack, one for each size, newest first. */
#include "prof/table/sizes.h"

#include <stddef.h>

#include "prof/sample/sampler.h"
#include "prof/store/count.h"
#include "prof/table/reuse.h"

#define SIZE(field) offsetof(mw_state_size_t, field)

_Static_assert(SIZE(bytes) == SIZE(objects_q16) + 8 && SIZE(samples) == SIZE(requested_bytes) + 8 &&
		       SIZE(objects_q16) % 16 == 0 && SIZE(requested_bytes) % 16 == 0 &&
		       sizeof(mw_state_size_t) % 16 == 0,
	       "pairs");

static uint32_t list_of(mw_both_t stack) {
	const mw_state_stack_t *entry = (const mw_state_stack_t *)(const void *)stack.table;
	return atomic_load_explicit(&entry->sizes, memory_order_relaxed);
}

/* Returns the number of the entry for this size in the list that begins with entry `newest`; 0:
 * there is none. */
static uint32_t find(uint32_t newest, uint64_t usable_bytes) {
	const mw_state_size_t *size;
	for (uint32_t i = newest; i != 0; i = size->next) {
		size = mw_store_private(MW_SECTION_SIZES, i);
		if (size->usable_bytes == usable_bytes)
			return i;
	}
	return 0;
}

/* Makes an entry and returns its number; 0: no room. `number`: number of the stack. */
static MW_NOINLINE uint32_t make(mw_both_t stack, uint32_t number, uint64_t usable_bytes) {
	uint64_t taken = mw_reuse_take(MW_SECTION_SIZES);
	if (taken == MW_STORE_NO_ENTRY)
		return 0;
	mw_both_t both = mw_store_both(MW_SECTION_SIZES, taken);
	mw_both_set64(both, SIZE(usable_bytes), usable_bytes);
	mw_both_set32(both, SIZE(next), list_of(stack));
	mw_both_set32(both, SIZE(stack), number);
	/* A thread that reads the number then reads a complete entry. */
	atomic_thread_fence(memory_order_release);
	mw_both_set32(stack, MW_STACK(sizes), (uint32_t)taken);
	return (uint32_t)taken;
}

/* Returns the number of the stack's entry for this size, which is made if it does not exist; 0: no
 * room. */
static uint32_t entry_of(mw_both_t stack, uint32_t number, uint64_t usable_bytes) {
	uint32_t found = find(list_of(stack), usable_bytes);
	return found != 0 ? found : make(stack, number, usable_bytes);
}

static void add_sample(uint64_t number, const mw_sample_t *sample) {
	mw_sides_t size = mw_sides_of(mw_store_both(MW_SECTION_SIZES, number));
	int64_t objects_q16 = (int64_t)sample->weight_q16;
	mw_sides_add_pair(size, SIZE(objects_q16),
			  (mw_os_pair_t){objects_q16, mw_sampler_weigh(sample->weight_q16,
								       sample->usable_bytes)});
	mw_sides_add_pair(
		size, SIZE(requested_bytes),
		(mw_os_pair_t){mw_sampler_weigh(sample->weight_q16, sample->requested_bytes), 1});
}

void mw_sizes_count_other(const mw_sample_t *sample) {
	mw_both_t stack = mw_store_both(MW_SECTION_STACKS, sample->stack);
	const mw_state_stack_t *entry = (const mw_state_stack_t *)(const void *)stack.table;
	uint32_t first = atomic_load_explicit(&entry->first_size_bytes, memory_order_relaxed);
	uint64_t usable_bytes = mw_state_size_of(sample->usable_bytes);
	/* Stack 0, "unknown", has no sizes, because it sums the stacks that do not fit into the
	 * published copy. */
	if (sample->stack == 0 || list_of(stack) == MW_SIZES_UNKNOWN || first == usable_bytes)
		return;
	if (first == 0 && usable_bytes <= UINT32_MAX) {
		mw_both_set32(stack, MW_STACK(first_size_bytes), (uint32_t)usable_bytes);
		return;
	}
	uint32_t number = entry_of(stack, sample->stack, usable_bytes);
	if (number != 0)
		add_sample(number, sample);
	else
		mw_both_set32(stack, MW_STACK(sizes), MW_SIZES_UNKNOWN);
}

/* The entries and their sizes stay; their counters become 0. */
void mw_sizes_reset(void) {
	uint64_t used = atomic_load_explicit(&mw_store_live()->sizes_used, memory_order_acquire);
	for (uint64_t i = 1; i < used; i++) {
		mw_both_t both = mw_store_both(MW_SECTION_SIZES, i);
		mw_both_set64(both, SIZE(objects_q16), 0);
		mw_both_set64(both, SIZE(bytes), 0);
		mw_both_set64(both, SIZE(requested_bytes), 0);
		mw_both_set64(both, SIZE(samples), 0);
	}
}
