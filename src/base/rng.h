/* SPDX-License-Identifier: MIT
 * rng.h -- random numbers for sampling: xoshiro256++ seeded by splitmix64 (Blackman and Vigna,
 * "Scrambled linear pseudorandom number generators", 2019), and the exponential draw.
 * Layer: base.  No locks; one state a thread.  The library may not use libm: log is own code. */
#ifndef MW_BASE_RNG_H
#define MW_BASE_RNG_H

#include <stdint.h>

typedef struct mw_rng {
	uint64_t state[4];
} mw_rng_t;

/* The seed fixes the whole sequence.  Any value will do, 0 too. */
void mw_rng_init(mw_rng_t *rng, uint64_t seed);
uint64_t mw_rng_next(mw_rng_t *rng);
/* Exponentially distributed with mean 1; finite and > 0. */
double mw_rng_exp(mw_rng_t *rng);

#endif
