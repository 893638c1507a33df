/* SPDX-License-Identifier: MIT
 * sampler.c -- geometric and exponential gaps, weights, and the history of the rate. */
#include "prof/sampler.h"

#include <stdatomic.h>

#include "base/check.h"
#include "base/math.h"
#include "os/proc.h"
#include "state/layout.h"

/* Rates of the last epochs.  A list cut under an old rate is usually a few hundred objects long, so
 * 64 changes back is beyond what a person at a keyboard can reach. */
#define HISTORY_LENGTH 64u
/* An entry is one word, so that it is never torn: T (0 .. 2^40) below, the epoch's low bits above.
 */
#define MEAN_BITS 42
#define MEAN_MASK (((uint64_t)1 << MEAN_BITS) - 1)
/* Draws are cut here, so that the heap's sums cannot wrap: 2^62 objects never come. */
#define GAP_MAX ((uint64_t)1 << 62)

static struct {
	_Atomic uint64_t mean_bytes;
	_Atomic uint64_t history[HISTORY_LENGTH];
	_Atomic uint64_t seed;    /* 0: not chosen yet */
	_Atomic uint64_t started; /* samplers so far: tells their sequences apart */
} sampling;

_Atomic uint32_t mw_sampler_fork_generation;

void mw_sampler_set_seed(uint64_t seed) {
	atomic_store_explicit(&sampling.seed, seed, memory_order_relaxed);
	atomic_store_explicit(&sampling.started, 0, memory_order_relaxed);
}

void mw_sampler_start(mw_sampler_t *sampler) {
	uint64_t seed = atomic_load_explicit(&sampling.seed, memory_order_relaxed);
	if (seed == 0) {
		/* Two threads may come here at once; both store the same value. */
		seed = mw_os_random_seed() | 1;
		atomic_store_explicit(&sampling.seed, seed, memory_order_relaxed);
	}
	uint32_t forks = atomic_load_explicit(&mw_sampler_fork_generation, memory_order_relaxed);
	uint64_t number = atomic_fetch_add_explicit(&sampling.started, 1, memory_order_relaxed);
	/* Children of a fork share seed and count with their parent; the pid tells them apart. */
	uint64_t process = forks ? (uint64_t)mw_os_process_id() << 32 : 0;
	mw_rng_init(&sampler->rng, seed ^ process ^ number * 0x9fb21c651e98df25u);
	sampler->fork_generation = forks;
	sampler->thread_id = 0;
	sampler->thread_number = 0;
	sampler->part = (uint32_t)number % MW_STACK_PARTS;
	sampler->elsewhere = 0;
	sampler->named_ns = 0;
	/* Never equal to the current one, so that the first draw loads the rate. */
	sampler->epoch = atomic_load_explicit(&mw_heap_epoch, memory_order_relaxed) - 1;
}

void mw_sampler_forked(void) {
	atomic_fetch_add_explicit(&mw_sampler_fork_generation, 1, memory_order_relaxed);
}

static uint64_t pack(uint32_t epoch, uint64_t mean_bytes) {
	return (uint64_t)epoch << MEAN_BITS | mean_bytes;
}

void mw_sampler_set_mean(uint64_t mean_bytes) {
	MW_ASSERT(mean_bytes <= MEAN_MASK);
	uint32_t epoch = atomic_load_explicit(&mw_heap_epoch, memory_order_relaxed);
	/* The rate that ends now, and the one that begins with the next epoch. */
	uint64_t old_mean = atomic_load_explicit(&sampling.mean_bytes, memory_order_relaxed);
	atomic_store_explicit(&sampling.history[epoch % HISTORY_LENGTH], pack(epoch, old_mean),
			      memory_order_relaxed);
	epoch++;
	atomic_store_explicit(&sampling.history[epoch % HISTORY_LENGTH], pack(epoch, mean_bytes),
			      memory_order_relaxed);
	atomic_store_explicit(&sampling.mean_bytes, mean_bytes, memory_order_relaxed);
	/* Pairs with the acquire in refresh() and with the heap's at its refills. */
	atomic_fetch_add_explicit(&mw_heap_epoch, 1, memory_order_release);
}

uint64_t mw_sampler_mean(void) {
	return atomic_load_explicit(&sampling.mean_bytes, memory_order_relaxed);
}

uint64_t mw_sampler_mean_at(uint32_t epoch) {
	uint64_t entry = atomic_load_explicit(&sampling.history[epoch % HISTORY_LENGTH],
					      memory_order_relaxed);
	if (entry >> MEAN_BITS == pack(epoch, 0) >> MEAN_BITS)
		return entry & MEAN_MASK;
	return mw_sampler_mean();
}

/* Notices a new epoch, and that this is a copy in the child of a fork. */
static void refresh(mw_sampler_t *sampler) {
	if (mw_sampler_is_copy(sampler))
		mw_sampler_start(sampler);
	/* Pairs with the release in mw_sampler_set_mean(). */
	uint32_t epoch = atomic_load_explicit(&mw_heap_epoch, memory_order_acquire);
	if (sampler->epoch == epoch)
		return;
	sampler->epoch = epoch;
	sampler->mean_bytes = mw_sampler_mean_at(epoch);
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
