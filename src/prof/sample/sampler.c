/* SPDX-License-Identifier: MIT
 * sampler.c -- geometric and exponential gaps, weights, and the history of the rate. */
#include "prof/sample/sampler.h"

#include <stdatomic.h>

#include "base/check.h"
#include "base/math.h"
#include "os/file/proc.h"
#include "state/layout.h"

/* Number of generations whose T is known. A draw of an older generation is rare: a tcache list with
 * a draw has a few hundred objects, and a user does not change the rate 64 times meanwhile. */
#define HISTORY_LENGTH 64u
/* An entry is one word, so that no reader sees half of it. Low bits: T (0 .. 2^40). High bits: low
 * bits of the generation. */
#define MEAN_BITS 42
#define MEAN_MASK (((uint64_t)1 << MEAN_BITS) - 1)
/* Largest draw, so that the heap's sums do not wrap. No program allocates 2^62 objects. */
#define GAP_MAX ((uint64_t)1 << 62)

static struct {
	_Atomic uint64_t mean_bytes;
	_Atomic uint64_t history[HISTORY_LENGTH];
	_Atomic uint64_t seed;    /* 0: not chosen yet */
	_Atomic uint64_t started; /* samplers started so far; each has its own sequence */
	unsigned cost_permille;   /* the limit; 0: none */
} sampling;

_Atomic uint32_t mw_sampler_fork_generation;

void mw_sampler_set_seed(uint64_t seed) {
	atomic_store_explicit(&sampling.seed, seed, memory_order_relaxed);
	atomic_store_explicit(&sampling.started, 0, memory_order_relaxed);
}

void mw_sampler_start(mw_sampler_t *sampler) {
	uint64_t seed = atomic_load_explicit(&sampling.seed, memory_order_relaxed);
	if (seed == 0) {
		/* Two threads may store a seed at once; both store the same value. */
		seed = mw_os_random_seed() | 1;
		atomic_store_explicit(&sampling.seed, seed, memory_order_relaxed);
	}
	uint32_t forks = atomic_load_explicit(&mw_sampler_fork_generation, memory_order_relaxed);
	uint64_t number = atomic_fetch_add_explicit(&sampling.started, 1, memory_order_relaxed);
	/* A forked child has the parent's seed and count, so its pid is part of the seed. */
	uint64_t process = forks ? (uint64_t)mw_os_process_id() << 32 : 0;
	mw_rng_init(&sampler->rng, seed ^ process ^ number * 0x9fb21c651e98df25u);
	sampler->fork_generation = forks;
	sampler->thread_id = 0;
	sampler->thread_number = 0;
	sampler->named_ns = 0;
	sampler->rate = 0;
	sampler->rate_changed = false;
	sampler->window_ns = sampler->window_samples = 0;
	/* The generation before the current one, so that the first draw loads the rate. */
	sampler->rate_generation =
		atomic_load_explicit(&mw_heap_rate_generation, memory_order_relaxed) - 1;
	sampler->draw_generation = mw_draw_generation(sampler->rate_generation, 0);
	sampler->mean_bytes = mw_sampler_mean_at(sampler->draw_generation);
}

void mw_sampler_forked(void) {
	atomic_fetch_add_explicit(&mw_sampler_fork_generation, 1, memory_order_relaxed);
}

static uint64_t pack(uint32_t generation, uint64_t mean_bytes) {
	return (uint64_t)generation << MEAN_BITS | mean_bytes;
}

void mw_sampler_set_mean(uint64_t mean_bytes) {
	MW_ASSERT(mean_bytes <= MEAN_MASK);
	uint32_t generation = atomic_load_explicit(&mw_heap_rate_generation, memory_order_relaxed);
	/* The rate that ends now, and the one that begins with the next generation. */
	uint64_t old_mean = atomic_load_explicit(&sampling.mean_bytes, memory_order_relaxed);
	atomic_store_explicit(&sampling.history[generation % HISTORY_LENGTH],
			      pack(generation, old_mean), memory_order_relaxed);
	generation++;
	atomic_store_explicit(&sampling.history[generation % HISTORY_LENGTH],
			      pack(generation, mean_bytes), memory_order_relaxed);
	atomic_store_explicit(&sampling.mean_bytes, mean_bytes, memory_order_relaxed);
	/* Pairs with the acquire in refresh() and with the heap's at its refills. */
	atomic_fetch_add_explicit(&mw_heap_rate_generation, 1, memory_order_release);
}

uint64_t mw_sampler_mean(void) {
	return atomic_load_explicit(&sampling.mean_bytes, memory_order_relaxed);
}

uint64_t mw_sampler_mean_at(uint32_t draw_generation) {
	uint64_t entry = atomic_load_explicit(&sampling.history[draw_generation % HISTORY_LENGTH],
					      memory_order_relaxed);
	/* The entry holds the low bits of its generation. */
	bool is_known = entry >> MEAN_BITS == pack(draw_generation, 0) >> MEAN_BITS;
	return (is_known ? entry & MEAN_MASK : mw_sampler_mean())
	       << (draw_generation >> MW_DRAW_RATE_SHIFT);
}

static void set_rate(mw_sampler_t *sampler, uint32_t rate) {
	sampler->rate = rate;
	sampler->draw_generation = mw_draw_generation(sampler->rate_generation, rate);
	sampler->mean_bytes = mw_sampler_mean_at(sampler->draw_generation);
}

/* Loads T of a new generation. Starts the sampler again in the child of a fork. */
static void refresh(mw_sampler_t *sampler) {
	if (mw_sampler_is_copy(sampler))
		mw_sampler_start(sampler);
	/* Pairs with the release in mw_sampler_set_mean(). */
	uint32_t generation = atomic_load_explicit(&mw_heap_rate_generation, memory_order_acquire);
	if (sampler->rate_generation == generation)
		return;
	sampler->rate_generation = generation;
	set_rate(sampler, 0);
	sampler->window_ns = sampler->window_samples = 0;
}

/* ---- the limit on the cost of samples ---- */

/* Time that a sample and its free take when samples are rare, so that the caches hold little of
 * their data (doc/internals/sampling.md, "What a sample costs"). */
#define SAMPLE_NS 500u
#define RATE_MAX 8u
_Static_assert(RATE_MAX < 1u << (32 - MW_DRAW_RATE_SHIFT), "a draw's number holds the rate");

void mw_sampler_set_cost_limit(unsigned permille) {
	sampling.cost_permille = permille;
}

void mw_sampler_limit_cost(mw_sampler_t *sampler, uint64_t now_ns) {
	uint64_t passed_ns = now_ns - sampler->window_ns;
	bool is_first = sampler->window_ns == 0 || now_ns < sampler->window_ns;
	uint64_t cost_ns = (uint64_t)sampler->window_samples * SAMPLE_NS;
	sampler->window_ns = now_ns;
	sampler->window_samples = 0;
	if (is_first || sampling.cost_permille == 0 || sampler->mean_bytes == 1)
		return;
	uint64_t most_ns = passed_ns / 1000 * sampling.cost_permille;
	uint32_t rate = sampler->rate;
	if (cost_ns > most_ns)
		rate += rate < RATE_MAX;
	else if (cost_ns < most_ns / 4) /* twice as many samples then take half of the limit */
		rate -= rate > 0;
	sampler->rate_changed = rate != sampler->rate;
	if (sampler->rate_changed)
		set_rate(sampler, rate);
}

/* Sizes and means are far below 2^63, and signed numbers are converted by one instruction. */
static double as_double(uint64_t number) {
	return (double)(int64_t)number;
}

static uint64_t gap(double length) {
	/* ceil() of a number that is an integer with probability 0. */
	return length >= 0x1p62 ? GAP_MAX : (uint64_t)(int64_t)length + 1;
}

uint64_t mw_sampler_draw_objects(mw_sampler_t *sampler, size_t size_bytes) {
	refresh(sampler);
	if (sampler->mean_bytes == 0)
		return UINT64_MAX;
	if (sampler->mean_bytes == 1)
		return 1;
	/* ceil(Exp(T)/size) is geometric with p = 1 - exp(-size/T). */
	double gap_bytes = mw_rng_exp(&sampler->rng) * as_double(sampler->mean_bytes);
	return gap(gap_bytes / as_double(size_bytes ? size_bytes : 1));
}

uint64_t mw_sampler_draw_bytes(mw_sampler_t *sampler) {
	return mw_sampler_draw_objects(sampler, 1);
}

uint64_t mw_sampler_weight_q16(uint64_t mean_bytes, uint64_t trial_bytes) {
	MW_ASSERT(mean_bytes > 0);
	if (mean_bytes == 1)
		return MW_WEIGHT_ONE;
	double trial = as_double(trial_bytes ? trial_bytes : 1);
	double weight = mw_reciprocal_chance(trial, as_double(mean_bytes));
	return (uint64_t)(int64_t)((double)MW_WEIGHT_ONE * weight + 0.5);
}
