/* SPDX-License-Identifier: MIT
 * rng.c -- xoshiro256++ and splitmix64, written from the published recurrences. */
#include "base/rng.h"

#include "base/math.h"

static uint64_t rotate_left(uint64_t x, unsigned count) {
	return (x << count) | (x >> (64 - count));
}

/* splitmix64: every 64-bit value occurs once per period, so four consecutive words are never all
 * 0. */
static uint64_t split_mix(uint64_t *state) {
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void mw_rng_init(mw_rng_t *rng, uint64_t seed) {
	for (int i = 0; i < 4; i++)
		rng->state[i] = split_mix(&seed);
}

uint64_t mw_rng_next(mw_rng_t *rng) {
	uint64_t *s = rng->state;
	uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
	uint64_t shifted = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate_left(s[3], 45);
	return result;
}

double mw_rng_exp(mw_rng_t *rng) {
	/* The middle of one of 2^52 equal intervals of [0, 1): exact in a double, never 0 and never
	 * 1. */
	double uniform = ((double)(int64_t)(mw_rng_next(rng) >> 12) + 0.5) * 0x1p-52;
	return -mw_log(uniform);
}
