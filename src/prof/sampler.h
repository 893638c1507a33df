/* SPDX-License-Identifier: MIT
 * sampler.h -- decides which allocations the heap profiler records, and how much each counts.
 * Layer: prof.  A sampler belongs to one thread: no locks, never allocates.  The rate is global;
 * the heap's epoch says when it changed.  Derivation and proofs: doc/sampling.md.
 *
 * T, the mean, is in bytes: an object of s bytes is sampled with p = 1 - exp(-s/T), independently
 * of all others, and counts as 1/p objects.  T == 0: off.  T == 1: exact, everything is sampled. */
#ifndef MW_PROF_SAMPLER_H
#define MW_PROF_SAMPLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "heap/hooks.h"

/* 1/1 in the fixed point of weights. */
#define MW_WEIGHT_ONE ((uint64_t)1 << 16)

/* Lives in the heap's mw_hook_thread_t. */
typedef struct mw_sampler {
	mw_rng_t rng;
	uint64_t mean_bytes;      /* T the next draws are made under */
	uint32_t epoch;           /* mw_heap_epoch of that T */
	uint32_t thread_id;       /* of the kernel; 0: not asked for yet */
	uint32_t fork_generation; /* differs from the process's: a copy in the child of a fork */
	uint32_t thread_number;   /* of its entry, from 1 on; 0: none yet */
	uint64_t named_ns;        /* monotonic: when the thread's name was last looked at */
	uint32_t part;      /* of the entries of stacks: which it counts in, if there is one */
	uint32_t elsewhere; /* samples that it counted in others' */
} mw_sampler_t;

_Static_assert(sizeof(mw_sampler_t) <= sizeof(mw_hook_thread_t), "the heap keeps it for us");

static inline mw_sampler_t *mw_sampler_of(mw_hook_thread_t *thread) {
	return (mw_sampler_t *)(void *)thread;
}

/* Fixes the sequence of the samplers started from now on, so that tests are reproducible. */
void mw_sampler_set_seed(uint64_t seed);
/* A thread starts, or finds itself in the child of a fork: a sequence of its own. */
void mw_sampler_start(mw_sampler_t *sampler);
/* In the child of a fork: samplers copied from the parent start anew at their next draw, or when
 * their thread looks whether they are. */
void mw_sampler_forked(void);
extern _Atomic uint32_t mw_sampler_fork_generation;
static inline bool mw_sampler_is_copy(const mw_sampler_t *sampler) {
	return MW_UNLIKELY(sampler->fork_generation !=
			   atomic_load_explicit(&mw_sampler_fork_generation, memory_order_relaxed));
}

/* Sets T for draws from now on and bumps the heap's epoch.  One caller at a time. */
void mw_sampler_set_mean(uint64_t mean_bytes);
uint64_t mw_sampler_mean(void);
/* T of an older epoch; beyond the last 64 changes, the present one. */
uint64_t mw_sampler_mean_at(uint32_t epoch);

/* The same for a thread whose draws are of that epoch as a rule. */
static inline uint64_t mw_sampler_mean_of(const mw_sampler_t *sampler, uint32_t epoch) {
	return MW_LIKELY(sampler->epoch == epoch) ? sampler->mean_bytes : mw_sampler_mean_at(epoch);
}

/* Objects of `size_bytes` until and including the next sample (>= 1); UINT64_MAX: off. */
uint64_t mw_sampler_draw_objects(mw_sampler_t *sampler, size_t size_bytes);
/* Bytes until and including the next mark (>= 1); UINT64_MAX: off. */
uint64_t mw_sampler_draw_bytes(mw_sampler_t *sampler);

/* 65536/p, rounded.  `mean_bytes` is the T of the draw, not 0; `trial_bytes` the size it was made
 * with. */
uint64_t mw_sampler_weight_q16(uint64_t mean_bytes, uint64_t trial_bytes);
/* weight * bytes in whole bytes, rounded; what overflows 63 bits is cut to INT64_MAX. */
static inline int64_t mw_sampler_weigh(uint64_t weight_q16, uint64_t bytes) {
	if (weight_q16 == MW_WEIGHT_ONE && bytes <= INT64_MAX)
		return (int64_t)bytes; /* all of them, in exact mode */
	unsigned __int128 product = (unsigned __int128)weight_q16 * bytes + MW_WEIGHT_ONE / 2;
	product >>= 16;
	return product > INT64_MAX ? INT64_MAX : (int64_t)product;
}

#endif
