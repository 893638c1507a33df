/* SPDX-License-Identifier: MIT
 * test_interval.c -- how often intervals hold the true value: ten mixtures of sizes in one stack,
 * and all of them together; units of durations. Usage: test_interval [RUNS]; with RUNS it prints
 * the rows of doc/measurements/intervals.md. */
#include <math.h>
#include <stdlib.h>

#include "report/interval.h"
#include "report/report.h"
#include "report/text/units.h"
#include "test.h"

#define MEAN_BYTES 524288.0
enum { RUNS = 400 };

static uint64_t state = 4711;

/* (0, 1) */
static double uniform(void) {
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

/* Samples among `count` objects with chance p: sums of geometric gaps. */
static int64_t draw(int64_t count, double p) {
	int64_t samples = 0;
	for (double at = 0;; samples++) {
		at += floor(log(uniform()) / log1p(-p)) + 1;
		if (at > (double)count)
			return samples;
	}
}

/* Objects of one size; every request is smaller by up to an eighth. */
typedef struct group {
	double size, requested;
	int64_t count;
} group_t;

enum { MIXES = 10, GROUPS_MAX = 400 };
typedef struct mix {
	const char *name;
	group_t groups[GROUPS_MAX];
	int count;
} mix_t;

static mix_t mixes[MIXES];

static void add_group(mix_t *mix, double size, double count) {
	CHECK(mix->count < GROUPS_MAX);
	mix->groups[mix->count++] =
		(group_t){size, floor(size * (1 - uniform() / 8)), llround(count)};
}

static mix_t *name_mix(int number, const char *name) {
	mixes[number].name = name;
	return &mixes[number];
}

static void make_mixes(void) {
	const double mib = 1 << 20;
	add_group(name_mix(0, "16 MiB of 64 B"), 64, 16 * mib / 64);
	add_group(name_mix(1, "6 MiB of 48 B"), 48, 6 * mib / 48);
	add_group(name_mix(2, "8 MiB of 4 KiB"), 4096, 2048);
	add_group(name_mix(3, "60 of 512 KiB"), 524288, 60);
	mix_t *mix = name_mix(4, "200 of 1 MiB, 40 of 2 MiB, 20 of 4 MiB");
	for (int i = 0; i < 3; i++)
		add_group(mix, mib * (1 << i), i == 0 ? 200 : 80 >> i);
	mix = name_mix(5, "200,000 of 112 B, 4,000 of 5 KiB, 30 of 1 MiB");
	add_group(mix, 112, 200000);
	add_group(mix, 5120, 4000);
	add_group(mix, mib, 30);
	mix = name_mix(6, "9 sizes from 16 B to 1 MiB, 2 MiB of each");
	for (double size = 16; size <= mib; size *= 4)
		add_group(mix, size, 2 * mib / size);
	mix = name_mix(7, "17 sizes from 16 B to 1 MiB, 3,000 of each");
	for (double size = 16; size <= mib; size *= 2)
		add_group(mix, size, 3000);
	mix = name_mix(8, "20,000 of 16 B to 1 MiB, even by logarithm");
	for (int i = 0; i < 320; i++)
		add_group(mix, floor(16 * exp(log(65536) * (i + 0.5) / 320)), 62.5);
	mix = name_mix(9, "17 sizes from 16 B to 1 MiB, 1 MiB of each");
	for (double size = 16; size <= mib; size *= 2)
		add_group(mix, size, mib / size);
}

enum { OBJECTS, BYTES, REQUESTED, TYPES };

typedef struct judged {
	mw_profile_t *profile;
	double truth[TYPES];
} judged_t;

static const char *const type_names[TYPES] = {"inuse_objects", "inuse_space", "inuse_requested"};

static judged_t begin(void) {
	judged_t judged = {.profile = mw_profile_new()};
	mw_profile_add_heap_types(judged.profile);
	mw_profile_add_state_types(judged.profile);
	judged.profile->period = (int64_t)MEAN_BYTES;
	return judged;
}

static void sample(judged_t *judged, const mix_t *mix) {
	mw_profile_t *p = judged->profile;
	for (int g = 0; g < mix->count; g++) {
		const group_t *group = &mix->groups[g];
		double chance = -expm1(-group->size / MEAN_BYTES);
		const double each[TYPES] = {1, group->size, group->requested};
		int64_t values[15] = {0}, samples = draw(group->count, chance);
		for (int k = 0; k < TYPES; k++) {
			judged->truth[k] += each[k] * (double)group->count;
			values[mw_profile_find_type(p, type_names[k])] =
				llround((double)samples / chance * each[k]);
		}
		values[mw_profile_find_type(p, "inuse_samples")] = samples;
		mw_profile_add_sample(p, NULL, 0, values, NULL, 0);
	}
}

static void judge(judged_t *judged, int held[TYPES], double *width) {
	const mw_profile_t *p = judged->profile;
	for (int k = 0; k < TYPES; k++) {
		size_t type = (size_t)mw_profile_find_type(p, type_names[k]);
		mw_interval_types_t types;
		mw_spread_t spread = {0};
		CHECK(mw_interval_types_find(p, type, &types));
		for (size_t i = 0; i < p->sample_count; i++)
			mw_spread_add_sample(&spread, p, i, type, &types);
		int64_t estimate = mw_profile_total(p, type);
		mw_interval_t range = mw_interval_of(estimate, &spread);
		CHECK(range.low <= estimate && estimate <= range.high);
		held[k] += (double)range.low <= judged->truth[k] &&
			   judged->truth[k] <= (double)range.high;
		if (k == OBJECTS)
			*width += (double)(range.high - range.low) / judged->truth[k];
	}
	mw_profile_free(judged->profile);
}

/* `count` mixes from this one on, in one profile. */
static void count_held(int first, int count, int runs, bool prints) {
	int held[TYPES] = {0};
	double width = 0;
	for (int run = 0; run < runs; run++) {
		judged_t judged = begin();
		for (int m = first; m < first + count; m++)
			sample(&judged, &mixes[m]);
		judge(&judged, held, &width);
	}
	printf(prints ? "| %s |" : "# %s", count == 1 ? mixes[first].name : "all ten together");
	for (int k = 0; k < TYPES; k++)
		printf(prints ? " %.1f %% |" : " %.1f %%", 100.0 * held[k] / runs);
	printf(prints ? " %.2f |\n" : " %.2f\n", width / runs);
	/* Four standard errors of so many runs, beyond two percent. */
	double slack = 0.02 + (prints ? 0 : 4 * sqrt(0.95 * 0.05 / runs));
	for (int k = 0; k < TYPES && !prints; k++)
		CHECK_NEAR((double)held[k] / runs, 0.95, slack);
}

static void count_all(int runs, bool prints) {
	make_mixes();
	for (int m = 0; m < MIXES; m++)
		count_held(m, 1, runs, prints);
	count_held(0, MIXES, runs, prints);
}

static void intervals_hold(void) {
	count_all(RUNS, false);
}

static mw_interval_t interval_of(double samples, double objects, int64_t value) {
	mw_spread_t spread = {0};
	mw_spread_add(&spread, samples, objects, (double)value, 0, false);
	return mw_interval_of(value, &spread);
}

static void exact_values_have_no_width(void) {
	mw_interval_t range = interval_of(1234, 1234, 1234);
	CHECK(range.low == 1234 && range.high == 1234);
	range = interval_of(0, 0, 0);
	CHECK(range.low == 0 && range.high == 0);
	range = interval_of(2, 0x1p63, INT64_MAX);
	CHECK(range.low > 0 && range.high == INT64_MAX);
	/* A single sample: between a twentieth and five times. */
	range = interval_of(1, 1000000, 1000000);
	CHECK(range.low > 25000 && range.low < 60000);
	CHECK(range.high > 4500000 && range.high < 5600000);
	/* What was sampled is there: 1 of 2 objects. */
	range = interval_of(1, 2, 2);
	CHECK(range.low >= 1 && range.high >= 4);
}

static void durations_have_units(void) {
	char text[32];
	CHECK_STR(mw_format_nanoseconds(980, text, sizeof text), "980 ns");
	CHECK_STR(mw_format_nanoseconds(1500000, text, sizeof text), "1.50 ms");
	CHECK_STR(mw_format_nanoseconds(90000000000, text, sizeof text), "1.50 min");
	CHECK_STR(mw_format_nanoseconds(7200000000000, text, sizeof text), "2.00 h");
	CHECK_STR(mw_format_nanoseconds(INT64_MAX, text, sizeof text), "106752 d");
}

int main(int argc, char **argv) {
	if (argc > 1) {
		printf("| mixture | objects | bytes | requested | width for objects |\n"
		       "|---|---|---|---|---|\n");
		count_all(atoi(argv[1]), true);
		return 0;
	}
	RUN(intervals_hold);
	RUN(exact_values_have_no_width);
	RUN(durations_have_units);
	return 0;
}
