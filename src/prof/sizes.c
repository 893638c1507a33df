/* SPDX-License-Identifier: MIT
 * sizes.c -- a list of sizes a stack, from the newest to the oldest. */
#include "prof/sizes.h"

#include <stddef.h>

#include "prof/count.h"
#include "prof/sampler.h"

#define SIZE(field) offsetof(mw_state_size_t, field)

_Static_assert(SIZE(bytes) == SIZE(objects_q16) + 8 && SIZE(samples) == SIZE(requested_bytes) + 8 &&
		       SIZE(objects_q16) % 16 == 0 && SIZE(requested_bytes) % 16 == 0 &&
		       sizeof(mw_state_size_t) % 16 == 0,
	       "pairs");

static uint32_t list_of(mw_twin_t stack) {
	const mw_state_stack_t *entry = (const mw_state_stack_t *)(const void *)stack.image;
	return atomic_load_explicit(&entry->sizes, memory_order_relaxed);
}

/* Entries found lately, by stack and size: exact mode meets the same few again and again, in lists
 * that may be as long as there are size classes. */
enum { MEMO_LOG2 = 8 };
static uint32_t memo[1 << MEMO_LOG2];

static uint32_t *memo_of(uint32_t stack, uint64_t usable_bytes) {
	uint64_t key = (uint64_t)stack << 32 ^ usable_bytes;
	return &memo[key * 0x9e3779b97f4a7c15u >> (64 - MEMO_LOG2)];
}

/* The number of the entry in the list from `newest` on; 0: there is none. */
static uint32_t find(uint32_t newest, uint32_t stack, uint64_t usable_bytes) {
	uint32_t *known = memo_of(stack, usable_bytes);
	const mw_state_size_t *size = mw_image_entry(MW_SECTION_SIZES, *known);
	if (*known != 0 && size->stack == stack && size->usable_bytes == usable_bytes)
		return *known;
	for (uint32_t i = newest; i != 0; i = size->next) {
		size = mw_image_entry(MW_SECTION_SIZES, i);
		if (size->usable_bytes == usable_bytes)
			return *known = i;
	}
	return 0;
}

/* 0: no room. */
static MW_NOINLINE uint32_t make(mw_twin_t stack, uint32_t number, uint64_t usable_bytes) {
	uint64_t taken = mw_image_take(MW_SECTION_SIZES, 1);
	if (taken == MW_IMAGE_NO_ENTRY)
		return 0;
	mw_twin_t twin = mw_image_twin(MW_SECTION_SIZES, taken);
	mw_twin_set64(twin, SIZE(usable_bytes), usable_bytes);
	mw_twin_set32(twin, SIZE(next), list_of(stack));
	mw_twin_set32(twin, SIZE(stack), number);
	/* Whoever reads the number reads the description, too. */
	atomic_thread_fence(memory_order_release);
	mw_twin_set32(stack, MW_STACK(sizes), (uint32_t)taken);
	return (uint32_t)taken;
}

/* The number of the stack's entry for this size, made if there is none; 0: no room. */
static uint32_t entry_of(mw_twin_t stack, uint32_t number, uint64_t usable_bytes) {
	uint32_t found = find(list_of(stack), number, usable_bytes);
	return found != 0 ? found : make(stack, number, usable_bytes);
}

static void add_sample(uint64_t number, const mw_sample_t *sample) {
	mw_sides_t size = mw_sides_of(mw_image_twin(MW_SECTION_SIZES, number));
	int64_t objects_q16 = (int64_t)sample->weight_q16;
	mw_sides_add_pair(size, SIZE(objects_q16),
			  (mw_os_pair_t){objects_q16, mw_sampler_weigh(sample->weight_q16,
								       sample->usable_bytes)});
	mw_sides_add_pair(
		size, SIZE(requested_bytes),
		(mw_os_pair_t){mw_sampler_weigh(sample->weight_q16, sample->requested_bytes), 1});
}

void mw_sizes_count_other(const mw_sample_t *sample) {
	mw_twin_t stack = mw_image_twin(MW_SECTION_STACKS, sample->stack);
	const mw_state_stack_t *entry = (const mw_state_stack_t *)(const void *)stack.image;
	uint32_t first = atomic_load_explicit(&entry->first_size_bytes, memory_order_relaxed);
	uint64_t usable_bytes = mw_state_size_of(sample->usable_bytes);
	/* Of "unknown" none are known: stacks without a place in the file are summed there. */
	if (sample->stack == 0 || list_of(stack) == MW_SIZES_UNKNOWN || first == usable_bytes)
		return;
	if (first == 0 && usable_bytes <= UINT32_MAX) {
		mw_twin_set32(stack, MW_STACK(first_size_bytes), (uint32_t)usable_bytes);
		return;
	}
	uint32_t number = entry_of(stack, sample->stack, usable_bytes);
	if (number != 0)
		add_sample(number, sample);
	else
		mw_twin_set32(stack, MW_STACK(sizes), MW_SIZES_UNKNOWN);
}

/* The sizes stay known. */
void mw_sizes_reset(void) {
	uint64_t used = atomic_load_explicit(&mw_image_live()->sizes_used, memory_order_relaxed);
	for (uint64_t i = 1; i < used; i++) {
		mw_twin_t twin = mw_image_twin(MW_SECTION_SIZES, i);
		mw_twin_set64(twin, SIZE(objects_q16), 0);
		mw_twin_set64(twin, SIZE(bytes), 0);
		mw_twin_set64(twin, SIZE(requested_bytes), 0);
		mw_twin_set64(twin, SIZE(samples), 0);
	}
}
