/* SPDX-License-Identifier: MIT
 * interval.c -- intervals for sums of few samples with unequal weights. */
#include "report/interval.h"

#include <math.h>
#include <string.h>

/* Size of the smallest block, whose samples have the largest weight. */
#define BLOCK_MIN_BYTES 16
/* Weights whose ratio is larger belong to different sizes.  Weights of one size class have a
 * smaller ratio. */
#define ONE_SIZE_RATIO 1.5
/* Halvings in the search for a quantile: more than the precision of a double. */
#define SEARCH_STEPS 64

bool mw_interval_types_find(const mw_profile_t *p, size_t type, mw_interval_types_t *types) {
	const char *name = mw_profile_string(p, p->types[type].type);
	bool is_alloc = strncmp(name, "alloc_", 6) == 0;
	if (!is_alloc && strncmp(name, "inuse_", 6) != 0)
		return false;
	types->objects = mw_profile_find_type(p, is_alloc ? "alloc_objects" : "inuse_objects");
	types->samples = mw_profile_find_type(p, is_alloc ? "alloc_samples" : "inuse_samples");
	return types->objects >= 0 && types->samples >= 0 && type != (size_t)types->samples;
}

void mw_spread_merge(mw_spread_t *spread, const mw_spread_t *other) {
	bool is_first = spread->weight_max <= 0;
	spread->seen += other->seen;
	spread->variance += other->variance;
	spread->rest_max = fmax(spread->rest_max, other->rest_max);
	spread->rest_cap = fmax(spread->rest_cap, other->rest_cap);
	spread->weight_cap = fmax(spread->weight_cap, other->weight_cap);
	if (other->weight_max <= 0)
		return;
	spread->weight_max = fmax(spread->weight_max, other->weight_max);
	spread->weight_min =
		is_first ? other->weight_min : fmin(spread->weight_min, other->weight_min);
}

void mw_spread_add(mw_spread_t *spread, double samples, double objects, double value, double period,
		   bool is_bytes) {
	/* Every object was recorded, so the value is certain. */
	if (samples <= 0 || objects <= samples) {
		spread->seen += value;
		return;
	}
	double weight = objects / samples, each = value / objects, rest = (weight - 1) * each;
	mw_spread_t one = {
		.seen = samples * each,
		.variance = samples * weight * rest * each,
		.rest_max = rest,
		.weight_max = weight,
		.weight_min = weight,
	};
	if (period > 1) {
		one.weight_cap = 1 / -expm1(-BLOCK_MIN_BYTES / period);
		one.rest_cap = is_bytes ? period : one.weight_cap;
	}
	mw_spread_merge(spread, &one);
}

void mw_spread_add_sample(mw_spread_t *spread, const mw_profile_t *p, size_t i, size_t type,
			  const mw_interval_types_t *types) {
	const int64_t *values = mw_profile_values(p, i);
	bool is_bytes = strcmp(mw_profile_string(p, p->types[type].unit), "bytes") == 0;
	if (values[type] > 0)
		mw_spread_add(spread, (double)values[types->samples],
			      (double)values[types->objects], (double)values[type],
			      (double)p->period, is_bytes);
}

/* Returns the share of a gamma distribution below `value`, by Wilson and Hilferty's cube-root
 * approximation. */
static double gamma_share(double mean, double variance, double value) {
	double shape = mean * mean / variance;
	if (value <= 0)
		return 0;
	double normal = (cbrt(value / mean) - 1 + 1 / (9 * shape)) * 3 * sqrt(shape);
	return 0.5 * erfc(-normal * M_SQRT1_2);
}

typedef struct gamma {
	double mean, variance;
} gamma_t;

/* Returns a quantile of the mixture of both distributions in equal shares. */
static double quantile(gamma_t a, gamma_t b, double share) {
	double low = 0, high = b.mean + 40 * sqrt(b.variance);
	for (int step = 0; step < SEARCH_STEPS; step++) {
		double middle = (low + high) / 2;
		double below = (gamma_share(a.mean, a.variance, middle) +
				gamma_share(b.mean, b.variance, middle)) /
			       2;
		if (below < share)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* Returns how many more samples of the largest seen weight may be missing.  One sample always
 * may be.  If sizes differ, samples of smaller sizes may be missing, too: for each halving of
 * the size ln 2 samples, which no sample shows in half of all cases. */
static double missed(const mw_spread_t *s) {
	double factor = 1;
	if (s->weight_max > ONE_SIZE_RATIO * s->weight_min && s->weight_cap > s->weight_max)
		factor += log(s->weight_cap / s->weight_max);
	if (s->rest_cap > s->rest_max && factor * s->rest_max > s->rest_cap)
		factor = s->rest_cap / s->rest_max;
	return factor;
}

static int64_t clamped(double value) {
	return value >= 0x1p63 ? INT64_MAX : value > 0 ? (int64_t)value : 0;
}

mw_interval_t mw_interval_of(int64_t estimate, const mw_spread_t *s) {
	double rest = (double)estimate - s->seen;
	if (estimate <= 0 || !(s->variance > 0) || rest <= 0)
		return (mw_interval_t){estimate, estimate};
	double more = missed(s) * s->rest_max;
	/* The variance of the missing sample is w(w-1)x^2: `more` is its part without the object
	 * itself, and rest_max / weight_max is x. */
	gamma_t least = {rest, s->variance},
		most = {rest + more, s->variance + more * (more + s->rest_max / s->weight_max)};
	mw_interval_t range = {
		.low = clamped(ceil(s->seen + quantile(least, most, 0.025))),
		.high = clamped(floor(s->seen + quantile(least, most, 0.975))),
	};
	range.low = range.low < estimate ? range.low : estimate;
	range.high = range.high > estimate ? range.high : estimate;
	return range;
}

/* Samples at the peak are not kept, so this uses the largest possible variance, T times the
 * bytes. */
static mw_interval_t interval_of_peak(const mw_profile_t *p, int64_t total) {
	double half = p->period > 1 && total > 0
			      ? MW_INTERVAL_QUANTILE * sqrt((double)p->period * (double)total)
			      : 0;
	return (mw_interval_t){clamped((double)total - half), clamped((double)total + half)};
}

mw_interval_t mw_interval_of_total(const mw_profile_t *p, size_t type) {
	mw_interval_types_t types;
	mw_spread_t spread = {0};
	int64_t total = mw_profile_total(p, type);
	if (strcmp(mw_profile_string(p, p->types[type].type), "peak_space") == 0)
		return interval_of_peak(p, total);
	if (!mw_interval_types_find(p, type, &types))
		return (mw_interval_t){total, total};
	for (size_t i = 0; i < p->sample_count; i++)
		mw_spread_add_sample(&spread, p, i, type, &types);
	return mw_interval_of(total, &spread);
}

/* Adds the squared distances of each side, so that asymmetric intervals stay asymmetric (method
 * of variance estimates recovery; Donner and Zou 2012). */
mw_interval_t mw_interval_of_difference(int64_t left, mw_interval_t left_range, int64_t right,
					mw_interval_t right_range) {
	double difference = (double)left - (double)right;
	double below = hypot((double)left - (double)left_range.low,
			     (double)right_range.high - (double)right);
	double above = hypot((double)left_range.high - (double)left,
			     (double)right - (double)right_range.low);
	return (mw_interval_t){(int64_t)(difference - below), (int64_t)(difference + above)};
}
