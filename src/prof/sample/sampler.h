/* SPDX-License-Identifier: MIT
 * sampler.h -- decides which allocations the heap profiler records, and the weight of each.
 * Layer: prof/sample, the door of this folder. A sampler belongs to one thread: no locks, never
 * allocates. The rate is global; a change of the rate raises the heap's generation. Derivation and
 * proofs: doc/internals/sampling.md.
 *
 * T is the mean number of bytes between two samples. An object of s bytes is sampled with
 * probability p = 1 - exp(-s/T), independently of all others, and has weight 1/p. T == 0: sampling
 * is off. T == 1: exact mode, every object is sampled.
 *
 * Reading order: sampler, activity (a thread's own switch), threads and thread_table (names of
 * threads), program_hooks (functions of the program that are called for samples). */
#ifndef MW_PROF_SAMPLE_SAMPLER_H
#define MW_PROF_SAMPLE_SAMPLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "heap/sample/hooks.h"

/* The weight 1. Weights are fixed-point numbers with 16 bits behind the point. */
#define MW_WEIGHT_ONE ((uint64_t)1 << 16)

/* A thread's sampler. It lies in the heap's mw_hook_thread_t. */
typedef struct mw_sampler {
	/* The heap reads these two fields (hooks.h). `rate`: how often the limit on the cost of
	 * samples has doubled the thread's T. */
	uint32_t rate;
	bool rate_changed;
	mw_rng_t rng;
	uint64_t mean_bytes;      /* T of the next draws, doublings included */
	uint32_t draw_generation; /* mw_draw_generation() of the next draws */
	uint32_t rate_generation; /* mw_heap_rate_generation of that T */
	uint32_t thread_id;       /* the kernel's id; 0: not read yet */
	uint32_t fork_generation; /* differs from the process's: a copy in the child of a fork */
	uint32_t thread_number;   /* number of the thread's entry, from 1 on; 0: none yet */
	uint64_t named_ns;        /* time when the name was last read; CLOCK_MONOTONIC */
	uint64_t window_ns;       /* start of the current window; CLOCK_MONOTONIC; 0: none */
	uint32_t window_samples;  /* samples in the current window */
} mw_sampler_t;

_Static_assert(sizeof(mw_sampler_t) <= sizeof(mw_hook_thread_t) &&
		       offsetof(mw_sampler_t, rate) == offsetof(mw_hook_thread_t, rate) &&
		       offsetof(mw_sampler_t, rate_changed) ==
			       offsetof(mw_hook_thread_t, rate_changed),
	       "a sampler lies in the heap's mw_hook_thread_t");

static inline mw_sampler_t *mw_sampler_of(mw_hook_thread_t *thread) {
	return (mw_sampler_t *)(void *)thread;
}

/* Sets the seed of all samplers that start from now on, so that tests are reproducible. */
void mw_sampler_set_seed(uint64_t seed);
/* Initialises the sampler of a new thread, or of a thread in the child of a fork. Each sampler has
 * its own sequence of random numbers. */
void mw_sampler_start(mw_sampler_t *sampler);
/* Called in the child of a fork: from now on mw_sampler_is_copy() is true for samplers that were
 * copied from the parent. Such a sampler starts again at its next draw. */
void mw_sampler_forked(void);
extern _Atomic uint32_t mw_sampler_fork_generation;
static inline bool mw_sampler_is_copy(const mw_sampler_t *sampler) {
	return MW_UNLIKELY(sampler->fork_generation !=
			   atomic_load_explicit(&mw_sampler_fork_generation, memory_order_relaxed));
}

/* Sets T for draws from now on and raises the heap's generation. One caller at a time. */
void mw_sampler_set_mean(uint64_t mean_bytes);
/* Returns the current T, without a thread's doublings. */
uint64_t mw_sampler_mean(void);
/* Returns T of the draw with this mw_draw_generation(). Returns the current T for a draw before the
 * last 64 changes. */
uint64_t mw_sampler_mean_at(uint32_t draw_generation);

/* Like mw_sampler_mean_at(), fast for draws of the sampler's current T. */
static inline uint64_t mw_sampler_mean_of(const mw_sampler_t *sampler, uint32_t draw_generation) {
	return MW_LIKELY(sampler->draw_generation == draw_generation)
		       ? sampler->mean_bytes
		       : mw_sampler_mean_at(draw_generation);
}

/* Returns the number of objects of `size_bytes` until and including the next sample (>= 1).
 * UINT64_MAX: sampling is off. */
uint64_t mw_sampler_draw_objects(mw_sampler_t *sampler, size_t size_bytes);
/* Returns the number of bytes until and including the next sampled byte (>= 1). UINT64_MAX:
 * sampling is off. */
uint64_t mw_sampler_draw_bytes(mw_sampler_t *sampler);

/* Sets the largest share of a thread's time that its samples may take, in thousandths; 0: no limit.
 * Called once, before threads exist. */
void mw_sampler_set_cost_limit(unsigned permille);
/* Number of samples after which the cost is compared with the limit. */
#define MW_SAMPLER_WINDOW 64u
/* Counts a sample. Returns true at the end of a window: the caller calls mw_sampler_limit_cost().
 */
static inline bool mw_sampler_ends_window(mw_sampler_t *sampler) {
	return MW_UNLIKELY(++sampler->window_samples >= MW_SAMPLER_WINDOW);
}
/* Doubles the thread's T if the samples of the window took more time than the limit allows, up to
 * 256 times T. Halves it again if they took less than a quarter of the limit. Has no effect in
 * exact mode (T == 1). */
void mw_sampler_limit_cost(mw_sampler_t *sampler, uint64_t now_ns);

/* Returns the weight 1/p in units of 1/65536, rounded. `mean_bytes`: T of the draw, not 0.
 * `trial_bytes`: size with which the draw was made. */
uint64_t mw_sampler_weight_q16(uint64_t mean_bytes, uint64_t trial_bytes);
/* Returns weight * bytes in whole bytes, rounded, at most INT64_MAX. */
static inline int64_t mw_sampler_weigh(uint64_t weight_q16, uint64_t bytes) {
	if (weight_q16 == MW_WEIGHT_ONE && bytes <= INT64_MAX)
		return (int64_t)bytes; /* exact mode: every sample */
	unsigned __int128 product = (unsigned __int128)weight_q16 * bytes + MW_WEIGHT_ONE / 2;
	product >>= 16;
	return product > INT64_MAX ? INT64_MAX : (int64_t)product;
}

#endif
