/* SPDX-License-Identifier: MIT
 * lives.c -- an entry for each stack whose samples were freed, made with the first. */
#include "prof/lives.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "prof/count.h"
#include "prof/image.h"
#include "prof/sampler.h"

#define LIFE(field) offsetof(mw_state_life_t, field)

/* The stack's entry; 0: no room. */
static uint32_t entry_of(mw_twin_t stack) {
	_Atomic uint32_t *life = (_Atomic uint32_t *)(void *)(stack.image + MW_STACK(life));
	uint32_t entry = atomic_load_explicit(life, memory_order_relaxed);
	if (MW_LIKELY(entry != 0))
		return entry;
	uint64_t taken = mw_image_take(MW_SECTION_LIVES, 1);
	if (taken == MW_IMAGE_NO_ENTRY)
		return 0;
	mw_twin_set32(stack, MW_STACK(life), (uint32_t)taken);
	return (uint32_t)taken;
}

/* Where each decade but the last ends. */
static const uint64_t limits_ns[MW_LIFE_DECADES - 1] = {
	MW_LIFE_FIRST_NS, 10000,      100000,      1000000,      10000000,
	100000000,        1000000000, 10000000000, 100000000000, 1000000000000,
};

/* Of a number of so many bits the logarithm is below bits * log10(2), by 1 at most. */
static unsigned decade_of(uint64_t lifetime_ns) {
	unsigned bits = mw_log2_floor(lifetime_ns | 1) + 1;
	unsigned log10_most = bits * 1233 / 4096;
	if (log10_most < 3)
		return 0;
	unsigned below = log10_most - 3;
	if (MW_UNLIKELY(below >= MW_LIFE_DECADES - 1))
		return MW_LIFE_DECADES - 1;
	return below + (lifetime_ns >= limits_ns[below]);
}

static int64_t object_us(const mw_life_t *life) {
	uint64_t us = (life->lifetime_ns + 500) / 1000;
	if (life->objects_q16 == (int64_t)MW_WEIGHT_ONE)
		return (int64_t)us;
	unsigned __int128 product = (unsigned __int128)life->objects_q16 * us >> 16;
	return product > INT64_MAX ? INT64_MAX : (int64_t)product;
}

_Static_assert(LIFE(object_us) == LIFE(samples) + 8 &&
		       LIFE(temporary_q16) == LIFE(other_thread_q16) + 8 &&
		       LIFE(samples) % 16 == 0 && LIFE(other_thread_q16) % 16 == 0 &&
		       sizeof(mw_state_life_t) % 16 == 0,
	       "pairs");

void mw_lives_count(char *base, mw_twin_t stack, const mw_life_t *life) {
	uint32_t entry = entry_of(stack);
	if (MW_UNLIKELY(entry == 0))
		return;
	mw_twin_t twin = mw_image_twin_of(base, MW_SECTION_LIVES, entry);
	int64_t objects = life->objects_q16;
	size_t decade = LIFE(decades_q16) + decade_of(life->lifetime_ns) * sizeof(int64_t);
	mw_os_pair_t sums =
		mw_count_pair(twin.image, LIFE(samples), (mw_os_pair_t){1, object_us(life)});
	mw_os_pair_t kinds = mw_count_pair(
		twin.image, LIFE(other_thread_q16),
		(mw_os_pair_t){life->other_thread ? objects : 0, life->temporary ? objects : 0});
	int64_t as_long = mw_count(twin.image, decade, objects);
	if (!twin.mirror)
		return;
	mw_count_set_pair(twin.mirror, LIFE(samples), sums);
	mw_count_set_pair(twin.mirror, LIFE(other_thread_q16), kinds);
	mw_count_set(twin.mirror, decade, as_long);
}
