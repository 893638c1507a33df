/* SPDX-License-Identifier: MIT
 * test_interval.c -- intervals of estimates hold the true value in about 95 of 100 cases, for few
 * samples and many, small objects and large, and mixtures; units of durations. */
#include <math.h>

#include "report/interval.h"
#include "report/report.h"
#include "test.h"

#define MEAN_BYTES 524288.0
enum { RUNS = 4000 };

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

typedef struct group {
	double size;
	int64_t count;
} group_t;

/* One profile of all groups; true: both intervals of the sum hold the truth. */
static void run(const group_t *groups, int group_count, int *bytes_held, int *objects_held) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	mw_profile_add_state_types(p);
	int samples_type = mw_profile_find_type(p, "inuse_samples");
	int64_t true_bytes = 0, true_objects = 0;
	for (int g = 0; g < group_count; g++) {
		double chance = -expm1(-groups[g].size / MEAN_BYTES);
		int64_t values[15] = {0}, samples = draw(groups[g].count, chance);
		values[2] = llround((double)samples / chance);
		values[3] = llround((double)samples / chance * groups[g].size);
		values[samples_type] = samples;
		mw_profile_add_sample(p, NULL, 0, values, NULL, 0);
		true_bytes += (int64_t)((double)groups[g].count * groups[g].size);
		true_objects += groups[g].count;
	}
	for (size_t type = 2; type <= 3; type++) {
		mw_interval_types_t types;
		CHECK(mw_interval_types_find(p, type, &types));
		double variance = 0;
		for (size_t i = 0; i < p->sample_count; i++)
			variance += mw_interval_variance(p, i, type, &types);
		mw_interval_t range = mw_interval_of(mw_profile_total(p, type), variance);
		int64_t truth = type == 2 ? true_objects : true_bytes;
		*(type == 2 ? objects_held : bytes_held) +=
			range.low <= truth && truth <= range.high;
	}
	mw_profile_free(p);
}

static void intervals_hold(void) {
	static const struct {
		const char *what;
		group_t groups[3];
		int count;
		double least; /* share of runs, for objects too */
	} cases[] = {
		{"100 MiB of 64 B", {{64, 1638400}}, 1, 0.94},
		{"8 MiB of 48 B", {{48, 174763}}, 1, 0.93},
		{"4 MiB of 4 KiB", {{4096, 1024}}, 1, 0.93},
		{"300 objects of 512 KiB", {{524288, 300}}, 1, 0.93},
		{"3 sizes", {{112, 500000}, {5120, 10000}, {1048576, 60}}, 3, 0.93},
	};
	for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
		int bytes = 0, objects = 0;
		for (int i = 0; i < RUNS; i++)
			run(cases[k].groups, cases[k].count, &bytes, &objects);
		printf("# %s: bytes %.1f %%, objects %.1f %%\n", cases[k].what,
		       100.0 * bytes / RUNS, 100.0 * objects / RUNS);
		/* 4000 runs know the share to 0.35 %. */
		CHECK(bytes >= cases[k].least * RUNS && bytes <= 0.985 * RUNS);
		CHECK(objects >= cases[k].least * RUNS && objects <= 0.985 * RUNS);
	}
}

static void exact_values_have_no_width(void) {
	mw_interval_t range = mw_interval_of(1234, 0);
	CHECK(range.low == 1234 && range.high == 1234);
	range = mw_interval_of(0, 0);
	CHECK(range.low == 0 && range.high == 0);
	range = mw_interval_of(INT64_MAX, (double)INT64_MAX * (double)INT64_MAX);
	CHECK(range.low > 0 && range.high == INT64_MAX);
	/* A single sample: between a fortieth and five and a half times. */
	range = mw_interval_of(1000000, 1e12);
	CHECK(range.low > 5000 && range.low < 40000);
	CHECK(range.high > 5400000 && range.high < 5700000);
}

static void durations_have_units(void) {
	char text[32];
	CHECK_STR(mw_format_nanoseconds(980, text, sizeof text), "980 ns");
	CHECK_STR(mw_format_nanoseconds(1500000, text, sizeof text), "1.50 ms");
	CHECK_STR(mw_format_nanoseconds(90000000000, text, sizeof text), "1.50 min");
	CHECK_STR(mw_format_nanoseconds(7200000000000, text, sizeof text), "2.00 h");
	CHECK_STR(mw_format_nanoseconds(INT64_MAX, text, sizeof text), "106752 d");
}

int main(void) {
	RUN(intervals_hold);
	RUN(exact_values_have_no_width);
	RUN(durations_have_units);
	return 0;
}
