/* SPDX-License-Identifier: MIT
 * lifetimes.c -- entries of the lifetime section. The first free of a stack's sample makes the
 * stack's entry. */
#include "prof/table/lifetimes.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "prof/sample/sampler.h"
#include "prof/store/count.h"
#include "prof/store/store.h"
#include "prof/table/reuse.h"

#define LIFE(field) offsetof(mw_state_lifetimes_t, field)

/* Makes an entry for the stack and returns its number; 0: no room. */
static MW_NOINLINE uint32_t make(mw_both_t stack) {
	uint64_t taken = mw_reuse_take(MW_SECTION_LIFETIMES);
	if (taken == MW_STORE_NO_ENTRY)
		return 0;
	/* A thread that reads the number then finds the entry's segment mapped. */
	atomic_thread_fence(memory_order_release);
	mw_both_set32(stack, MW_STACK(lifetimes), (uint32_t)taken);
	return (uint32_t)taken;
}

/* Returns the number of the stack's entry, which is made if it does not exist; 0: no room. */
static uint32_t entry_of(mw_both_t stack) {
	_Atomic uint32_t *lifetimes =
		(_Atomic uint32_t *)(void *)(stack.table + MW_STACK(lifetimes));
	uint32_t entry = atomic_load_explicit(lifetimes, memory_order_relaxed);
	return MW_LIKELY(entry != 0) ? entry : make(stack);
}

/* Upper end of each decade but the last. */
static const uint64_t limits_ns[MW_LIFETIME_DECADES - 1] = {
	MW_LIFETIME_FIRST_NS, 10000,       100000,       1000000,       10000000, 100000000,
	1000000000,           10000000000, 100000000000, 1000000000000,
};

/* Returns the index of the decade that contains the lifetime. The decimal logarithm of a number of
 * n bits is less than n * log10(2), by at most 1; 1233/4096 is log10(2). */
static unsigned decade_of(uint64_t lifetime_ns) {
	unsigned bits = mw_log2_floor(lifetime_ns | 1) + 1;
	unsigned log10_most = bits * 1233 / 4096;
	if (log10_most < 3)
		return 0;
	unsigned below = log10_most - 3;
	if (MW_UNLIKELY(below >= MW_LIFETIME_DECADES - 1))
		return MW_LIFETIME_DECADES - 1;
	return below + (lifetime_ns >= limits_ns[below]);
}

static int64_t object_us(const mw_lifetime_t *lifetimes) {
	uint64_t us = (lifetimes->lifetime_ns + 500) / 1000;
	if (lifetimes->objects_q16 == (int64_t)MW_WEIGHT_ONE)
		return (int64_t)us;
	unsigned __int128 product = (unsigned __int128)lifetimes->objects_q16 * us >> 16;
	return product > INT64_MAX ? INT64_MAX : (int64_t)product;
}

_Static_assert(LIFE(object_us) == LIFE(samples) + 8 &&
		       LIFE(temporary_q16) == LIFE(other_thread_q16) + 8 &&
		       LIFE(samples) % 16 == 0 && LIFE(other_thread_q16) % 16 == 0 &&
		       sizeof(mw_state_lifetimes_t) % 16 == 0,
	       "pairs");

void mw_lifetimes_count(char *base, mw_both_t stack, const mw_lifetime_t *lifetimes) {
	uint32_t entry = entry_of(stack);
	if (MW_UNLIKELY(entry == 0))
		return;
	mw_both_t both = mw_store_both_of(base, MW_SECTION_LIFETIMES, entry);
	int64_t objects = lifetimes->objects_q16;
	size_t decade = LIFE(decades_q16) + decade_of(lifetimes->lifetime_ns) * sizeof(int64_t);
	mw_os_pair_t sums =
		mw_count_pair(both.table, LIFE(samples), (mw_os_pair_t){1, object_us(lifetimes)});
	mw_os_pair_t kinds = mw_count_pair(both.table, LIFE(other_thread_q16),
					   (mw_os_pair_t){lifetimes->other_thread ? objects : 0,
							  lifetimes->temporary ? objects : 0});
	int64_t as_long = mw_count(both.table, decade, objects);
	if (!both.published)
		return;
	mw_count_set_pair(both.published, LIFE(samples), sums);
	mw_count_set_pair(both.published, LIFE(other_thread_q16), kinds);
	mw_count_set(both.published, decade, as_long);
}
