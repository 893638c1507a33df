/* SPDX-License-Identifier: MIT
 * rng.h -- random numbers for sampling: xoshiro256++ seeded by splitmix64 (Blackman and Vigna,
 * "Scrambled linear pseudorandom number generators", 2019), and the exponential draw.
 * Layer: base. No locks: each thread has its own state. The logarithm is in base/math.h. */
#ifndef MW_BASE_RNG_H
#define MW_BASE_RNG_H

#include <stdint.h>

typedef struct mw_rng {
	uint64_t state[4];
} mw_rng_t;

/* The seed fixes the whole sequence. Any value is allowed, including 0. */
void mw_rng_init(mw_rng_t *rng, uint64_t seed);
uint64_t mw_rng_next(mw_rng_t *rng);
/* Draws from the exponential distribution with mean 1. The result is finite and > 0. */
double mw_rng_exp(mw_rng_t *rng);

#endif
