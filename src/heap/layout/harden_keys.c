/* SPDX-License-Identifier: MIT
 * harden_keys.c -- the secrets of the hardened library.  Part of libmallow_secure only. */
#include "base/rng.h"
#include "heap/layout/harden_block.h"
#include "heap/layout/link.h"
#include "os/file/proc.h"

mw_harden_keys_t mw_harden_keys;

void mw_harden_start(void) {
	if (mw_harden_keys.multiplier)
		return;
	uint64_t seeds[2];
	mw_os_random(seeds, sizeof seeds);
	mw_rng_t rng;
	mw_rng_init(&rng, seeds[0]);
	mw_harden_keys.address = (mw_rng_next(&rng) ^ seeds[1]) | 1;
	mw_harden_keys.multiplier = mw_rng_next(&rng) | 1;
	mw_harden_keys.tag = mw_rng_next(&rng);
	mw_harden_keys.fresh = mw_harden_keys.tag ^ mw_harden_fold(MW_HARDEN_FILL, MW_HARDEN_FILL);
	mw_harden_keys.canary = (mw_rng_next(&rng) ^ seeds[1]) & ~(uint64_t)1;
}

uint32_t mw_harden_draw_below(uint64_t *state, uint32_t limit) {
	if (MW_UNLIKELY(*state == 0))
		*state = (mw_harden_mix(state) ^ mw_harden_keys.canary) | 1;
	/* xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators"). */
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	uint64_t random = *state * 0x2545f4914f6cdd1du >> 32;
	return (uint32_t)(random * limit >> 32);
}

bool mw_harden_is_whole;

void mw_harden_fill_whole(bool whole) {
	mw_harden_is_whole = whole;
}
