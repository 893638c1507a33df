/* SPDX-License-Identifier: MIT
 * interval.c -- variances from counts, and intervals that hold for few samples too. */
#include "report/interval.h"

#include <math.h>
#include <string.h>

/* Of the normal distribution, for 95 %. */
#define QUANTILE 1.959964

bool mw_interval_types_find(const mw_profile_t *p, size_t type, mw_interval_types_t *types) {
	const char *name = mw_profile_string(p, p->types[type].type);
	bool is_alloc = strncmp(name, "alloc_", 6) == 0;
	if (!is_alloc && strncmp(name, "inuse_", 6) != 0)
		return false;
	types->objects = mw_profile_find_type(p, is_alloc ? "alloc_objects" : "inuse_objects");
	types->samples = mw_profile_find_type(p, is_alloc ? "alloc_samples" : "inuse_samples");
	return types->objects >= 0 && types->samples >= 0 && type != (size_t)types->samples;
}

/* n samples that stand for N objects: the sum of w(w-1) over them with w = N/n, relative to the
 * square of N. */
double mw_interval_variance(const mw_profile_t *p, size_t i, size_t type,
			    const mw_interval_types_t *types) {
	const int64_t *values = mw_profile_values(p, i);
	double samples = (double)values[types->samples], objects = (double)values[types->objects];
	double value = (double)values[type];
	if (samples <= 0 || objects <= samples)
		return 0;
	return value * value * (1 / samples - 1 / objects);
}

/* Wilson and Hilferty's cube root, for the quantiles of a gamma distribution of this shape: the
 * exact limits of a Poisson count, within 1 % from a count of 1 on. */
static double gamma_quantile(double shape, double normal_quantile) {
	double root = 1 - 1 / (9 * shape) + normal_quantile / (3 * sqrt(shape));
	return root > 0 ? shape * root * root * root : 0;
}

static int64_t clamped(double value) {
	return value >= 0x1p63 ? INT64_MAX : value > 0 ? llround(value) : 0;
}

mw_interval_t mw_interval_of(int64_t estimate, double variance) {
	double value = (double)estimate;
	if (estimate <= 0 || !(variance > 0))
		return (mw_interval_t){estimate, estimate};
	/* As many equal samples would be as uncertain. */
	double count = value * value / variance;
	return (mw_interval_t){
		.low = clamped(value * gamma_quantile(count, -QUANTILE) / count),
		.high = clamped(value * gamma_quantile(count + 1, QUANTILE) / count),
	};
}
