/* SPDX-License-Identifier: MIT
 * test_sampler.c -- the law of the gaps, the weights, and that sums of weights are unbiased. */
#include "prof/sample/sampler.h"

#include <math.h>

#include "fake_heap.h"
#include "heap/layout/size_class.h"
#include "test.h"

#define DEFAULT_MEAN_BYTES ((uint64_t)524288)

static mw_hook_thread_t words;

static mw_sampler_t *fresh(uint64_t seed, uint64_t mean_bytes) {
	mw_sampler_set_seed(seed);
	mw_sampler_set_mean(mean_bytes);
	mw_sampler_start(mw_sampler_of(&words));
	return mw_sampler_of(&words);
}

/* Chi-square of geometric gaps in 20 cells of equal probability (as near as integers allow), for
 * every size class. */
static void gaps_are_geometric(void) {
	enum { CELLS = 20, DRAWS = 200000 };
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_sampler_t *sampler = fresh(7 + c, DEFAULT_MEAN_BYTES);
		double chance = -expm1(-(double)mw_class_bytes[c] / (double)DEFAULT_MEAN_BYTES);
		uint64_t limits[CELLS];
		double expected[CELLS], below = 0;
		for (int i = 0; i < CELLS; i++) {
			double p = (i + 1.0) / CELLS;
			limits[i] = i == CELLS - 1 ? UINT64_MAX
						   : (uint64_t)ceil(log1p(-p) / log1p(-chance));
			double upto =
				i == CELLS - 1 ? 1 : -expm1((double)limits[i] * log1p(-chance));
			expected[i] = (upto - below) * DRAWS;
			below = upto;
		}
		long seen[CELLS] = {0};
		for (int i = 0; i < DRAWS; i++) {
			uint64_t gap = mw_sampler_draw_objects(sampler, mw_class_bytes[c]);
			CHECK(gap >= 1);
			int cell = 0;
			while (gap > limits[cell])
				cell++;
			seen[cell]++;
		}
		double chi_square = 0;
		for (int i = 0; i < CELLS; i++)
			if (expected[i] > 0) /* of large objects some cells coincide */
				chi_square += pow((double)seen[i] - expected[i], 2) / expected[i];
		/* 19 degrees of freedom at most: 54.5 is passed once in 30,000, so by one of the
		 * classes for one seed in 700. */
		CHECK(chi_square < 54.5);
	}
}

static void weights_are_inverse_chances(void) {
	for (uint64_t mean = 2; mean <= (uint64_t)1 << 40; mean = mean * 3 + 1)
		for (uint64_t size = 16; size <= (uint64_t)1 << 40; size = size * 5 / 2) {
			double want = 65536.0 / -expm1(-(double)size / (double)mean);
			double got = (double)mw_sampler_weight_q16(mean, size);
			CHECK(fabs(got - want) <= 0.5 + want * 1e-12);
		}
	for (uint64_t size = 1; size < 100000; size += 13)
		CHECK_EQ(mw_sampler_weight_q16(1, size), 65536);
	CHECK_EQ(mw_sampler_weigh(65536, 12345), 12345);
	CHECK_EQ(mw_sampler_weigh(98304, 3), 5); /* 4.5 rounds up */
	CHECK_EQ(mw_sampler_weigh(UINT64_MAX, UINT64_MAX), INT64_MAX);
}

static void exact_mode_takes_everything(void) {
	mw_sampler_t *sampler = fresh(1, 1);
	for (size_t size = 0; size < 10000; size += 7)
		CHECK_EQ(mw_sampler_draw_objects(sampler, size), 1);
	CHECK_EQ(mw_sampler_draw_bytes(sampler), 1);
}

static void off_never_samples(void) {
	mw_sampler_t *sampler = fresh(1, 0);
	CHECK(mw_sampler_draw_objects(sampler, 16) == UINT64_MAX);
	CHECK(mw_sampler_draw_bytes(sampler) == UINT64_MAX);
}

static void old_generations_keep_their_mean(void) {
	uint32_t generations[60];
	for (uint32_t i = 0; i < 60; i++) {
		mw_sampler_set_mean(1000 + i);
		generations[i] = atomic_load(&mw_heap_rate_generation);
	}
	for (uint32_t i = 0; i < 60; i++)
		CHECK_EQ(mw_sampler_mean_at(generations[i]), 1000 + i);
	for (uint32_t i = 0; i < 10; i++)
		mw_sampler_set_mean(5);
	/* Long forgotten: the present one. */
	CHECK_EQ(mw_sampler_mean_at(generations[0]), 5);
	CHECK_EQ(mw_sampler_mean_at(generations[59]), 1059);
}

static void copies_of_a_fork_draw_another_sequence(void) {
	mw_sampler_t *sampler = fresh(11, DEFAULT_MEAN_BYTES);
	mw_sampler_draw_objects(sampler, 16);
	mw_sampler_t parent = *sampler;
	int equal = 0;
	uint64_t gaps[50];
	for (int i = 0; i < 50; i++)
		gaps[i] = mw_sampler_draw_objects(&parent, 16);
	mw_sampler_forked();
	for (int i = 0; i < 50; i++)
		equal += mw_sampler_draw_objects(sampler, 16) == gaps[i];
	CHECK(equal <= 2);
}

static bool change_cost;
static uint64_t now_ns = 1;
static long changes;

/* What a recorder would have summed up. */
static double sum_objects, sum_bytes;

static mw_record_id_t count_sample(mw_hook_thread_t *thread, const mw_sample_request_t *request) {
	uint64_t mean = mw_sampler_mean_of(mw_sampler_of(thread), request->draw_generation);
	uint64_t weight = mw_sampler_weight_q16(mean, request->trial_bytes);
	sum_objects += (double)weight / 65536;
	sum_bytes += (double)mw_sampler_weigh(weight, request->usable_bytes);
	/* Some windows are short, others long: T is doubled and halved all the time. */
	now_ns += change_cost && now_ns >> 22 & 1 ? 1000 : 1000000;
	if (mw_sampler_ends_window(mw_sampler_of(thread)))
		mw_sampler_limit_cost(mw_sampler_of(thread), now_ns);
	changes += mw_sampler_of(thread)->rate_changed;
	mw_sampler_of(thread)->rate_changed = false;
	return 0;
}

static void start_thread(mw_hook_thread_t *thread) {
	mw_sampler_start(mw_sampler_of(thread));
}

static uint64_t draw_objects(mw_hook_thread_t *thread, size_t size) {
	return mw_sampler_draw_objects(mw_sampler_of(thread), size);
}

static uint64_t draw_bytes(mw_hook_thread_t *thread) {
	return mw_sampler_draw_bytes(mw_sampler_of(thread));
}

static const mw_heap_hooks_t counting_hooks = {.thread_start = start_thread,
					       .draw_objects = draw_objects,
					       .draw_bytes = draw_bytes,
					       .sampled = count_sample};

/* The true count of allocations against the sum of weights, small and large mixed, also when the
 * rate changes in between every few thousand allocations. */
static void estimates_are_unbiased(bool change_rate) {
	static const size_t sizes[] = {16, 48, 112, 512, 4096, 32768, 200000, 3000000};
	static const uint64_t rates[] = {524288, 65536, 1000000, 20000};
	enum { KINDS = sizeof sizes / sizeof *sizes, RUNS = 300, ROUNDS = 40000 };
	double error_objects = 0, error_bytes = 0, squares_objects = 0, squares_bytes = 0;
	mw_heap_set_hooks(&counting_hooks);
	for (int run = 0; run < RUNS; run++) {
		mw_sampler_set_seed(1000 + (uint64_t)run);
		mw_sampler_set_mean(rates[0]);
		fake_thread_t thread;
		fake_thread_start(&thread);
		double objects = 0, bytes = 0;
		sum_objects = sum_bytes = 0;
		for (int i = 0; i < ROUNDS; i++) {
			if (change_rate && i % 37 == 0)
				mw_sampler_set_mean(rates[i / 37 % 4]);
			for (unsigned k = 0; k < KINDS; k++) {
				/* Few of the large, as in life: equal shares of the bytes. */
				if (k >= 4 && i % (1 << k) != 0)
					continue;
				bool sampled;
				if (sizes[k] <= 32768)
					fake_small(&thread, k, NULL, sizes[k], sizes[k], &sampled);
				else
					fake_large(&thread, NULL, sizes[k], sizes[k], &sampled);
				objects++;
				bytes += (double)sizes[k];
			}
		}
		double e = sum_objects / objects - 1, b = sum_bytes / bytes - 1;
		error_objects += e;
		squares_objects += e * e;
		error_bytes += b;
		squares_bytes += b * b;
	}
	/* The mean error is zero within four of its own standard errors. */
	double limit_objects = 4 * sqrt(squares_objects) / RUNS;
	double limit_bytes = 4 * sqrt(squares_bytes) / RUNS;
	CHECK_NEAR(error_objects / RUNS, 0, limit_objects);
	CHECK_NEAR(error_bytes / RUNS, 0, limit_bytes);
	printf("# mean errors: objects %+.4f (limit %.4f), bytes %+.4f (limit %.4f)\n",
	       error_objects / RUNS, limit_objects, error_bytes / RUNS, limit_bytes);
	/* ... and those are small enough for the check to mean something. */
	double loose = change_cost ? 4 : 1;
	CHECK(limit_objects < 0.08 * loose && limit_bytes < 0.01 * loose);
}

static void estimates_at_one_rate(void) {
	estimates_are_unbiased(false);
}

static void estimates_across_rates(void) {
	estimates_are_unbiased(true);
}

static void estimates_with_limited_cost(void) {
	change_cost = true;
	mw_sampler_set_cost_limit(5);
	estimates_are_unbiased(false);
	CHECK(changes > 1000);
	estimates_are_unbiased(true);
	mw_sampler_set_cost_limit(0);
	change_cost = false;
}

/* A thread whose samples come each `gap_ns`. */
static void take_samples(mw_sampler_t *sampler, unsigned windows, uint64_t gap_ns, uint64_t *now) {
	for (unsigned i = 0; i < windows * MW_SAMPLER_WINDOW; i++) {
		*now += gap_ns;
		if (mw_sampler_ends_window(sampler))
			mw_sampler_limit_cost(sampler, *now);
	}
}

/* At 0.5 % and 500 ns a sample each 100 us is the limit. */
static void frequent_samples_double_the_mean(void) {
	mw_sampler_t sampler;
	uint64_t now = 1;
	mw_sampler_set_mean(524288);
	mw_sampler_set_cost_limit(5);
	mw_sampler_start(&sampler);
	mw_sampler_draw_objects(&sampler, 16);
	uint32_t at_first = sampler.draw_generation;
	take_samples(&sampler, 4, 101000, &now);
	CHECK(sampler.rate == 0 && !sampler.rate_changed);
	take_samples(&sampler, 3, 50000, &now);
	CHECK(sampler.rate == 3 && sampler.rate_changed && sampler.mean_bytes == 524288 << 3);
	take_samples(&sampler, 3, 200000, &now);
	CHECK(sampler.rate == 3 && !sampler.rate_changed);
	take_samples(&sampler, 2, 500000, &now);
	CHECK_EQ(sampler.rate, 1);
	take_samples(&sampler, 20, 10, &now);
	CHECK_EQ(sampler.rate, 8);
	/* What was drawn before keeps its T. */
	CHECK_EQ(mw_sampler_mean_of(&sampler, at_first), 524288);
	CHECK_EQ(mw_sampler_mean_of(&sampler, sampler.draw_generation), 524288 << 8);
	/* Another rate begins anew, and exact mode keeps all. */
	mw_sampler_set_mean(1);
	mw_sampler_draw_objects(&sampler, 16);
	CHECK(sampler.rate == 0 && sampler.mean_bytes == 1);
	take_samples(&sampler, 20, 10, &now);
	CHECK(sampler.rate == 0 && sampler.mean_bytes == 1);
	mw_sampler_set_cost_limit(0);
	mw_sampler_set_mean(524288);
	mw_sampler_draw_objects(&sampler, 16);
	take_samples(&sampler, 20, 10, &now);
	CHECK_EQ(sampler.rate, 0);
}

int main(void) {
	RUN(gaps_are_geometric);
	RUN(weights_are_inverse_chances);
	RUN(exact_mode_takes_everything);
	RUN(off_never_samples);
	RUN(old_generations_keep_their_mean);
	RUN(estimates_at_one_rate);
	RUN(estimates_across_rates);
	RUN(estimates_with_limited_cost);
	RUN(frequent_samples_double_the_mean);
	/* Last: the pid is part of a seed from here on. */
	RUN(copies_of_a_fork_draw_another_sequence);
	return 0;
}
