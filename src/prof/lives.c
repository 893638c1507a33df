/* SPDX-License-Identifier: MIT
 * lives.c -- an entry for each stack whose samples were freed, made with the first. */
#include "prof/lives.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "prof/count.h"
#include "prof/image.h"

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

/* Where each decade begins. */
static const uint64_t decade_starts_ns[MW_LIFE_DECADES] = {
	0,
	MW_LIFE_FIRST_NS,
	MW_LIFE_FIRST_NS *UINT64_C(10),
	MW_LIFE_FIRST_NS *UINT64_C(100),
	MW_LIFE_FIRST_NS *UINT64_C(1000),
	MW_LIFE_FIRST_NS *UINT64_C(10000),
	MW_LIFE_FIRST_NS *UINT64_C(100000),
	MW_LIFE_FIRST_NS *UINT64_C(1000000),
	MW_LIFE_FIRST_NS *UINT64_C(10000000),
	MW_LIFE_FIRST_NS *UINT64_C(100000000),
	MW_LIFE_FIRST_NS *UINT64_C(1000000000),
};

/* A binary digit has 1233/4096 decimal ones, up to 10^12: what the logarithm to base 2 gives is the
 * decade or the one after it. */
static unsigned decade_of(uint64_t lifetime_ns) {
	enum { DIGITS_BELOW = 2 }; /* of MW_LIFE_FIRST_NS, all but one */
	if (lifetime_ns < MW_LIFE_FIRST_NS)
		return 0;
	unsigned decade = ((mw_log2_floor(lifetime_ns) + 1) * 1233 >> 12) - DIGITS_BELOW;
	if (decade > MW_LIFE_DECADES - 1)
		decade = MW_LIFE_DECADES - 1;
	return decade - (lifetime_ns < decade_starts_ns[decade]);
}

static int64_t object_us(const mw_life_t *life) {
	uint64_t us = (life->lifetime_ns + 500) / 1000;
	unsigned __int128 product = (unsigned __int128)life->objects_q16 * us >> 16;
	return product > INT64_MAX ? INT64_MAX : (int64_t)product;
}

_Static_assert(LIFE(object_us) == LIFE(samples) + 8 &&
		       LIFE(temporary_q16) == LIFE(other_thread_q16) + 8 &&
		       LIFE(samples) % 16 == 0 && LIFE(other_thread_q16) % 16 == 0 &&
		       sizeof(mw_state_life_t) % 16 == 0,
	       "pairs");

void mw_lives_count(const char *base, mw_twin_t stack, const mw_life_t *life) {
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
