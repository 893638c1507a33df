/* SPDX-License-Identifier: MIT
 * interval.h -- computes how far off an estimate may be.
 * Layer: report.  Derivation: doc/internals/sampling.md, "Intervals". */
#ifndef MW_TOOL_REPORT_INTERVAL_H
#define MW_TOOL_REPORT_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

/* Quantile of the normal distribution for 95 %. */
#define MW_INTERVAL_QUANTILE 1.959964

/* Sample types that determine the error of one type; -1 = the profile does not have it. */
typedef struct mw_interval_types {
	int objects;
	int samples;
} mw_interval_types_t;

/* Finds the types.  False: the profile does not tell how accurate `type` is. */
bool mw_interval_types_find(const mw_profile_t *profile, size_t type, mw_interval_types_t *types);

/* Properties of the samples behind a sum.  All zero means no samples. */
typedef struct mw_spread {
	double seen;     /* value of the sampled objects themselves, which is certain */
	double variance; /* variance of the remaining value, which the samples only represent */
	double rest_max; /* largest value that one sample represents besides its own object */
	/* Largest value that a sample of the smallest block would represent; 0 = T is not known. */
	double rest_cap;
	/* Largest and smallest weight: number of objects that a sample represents. */
	double weight_max, weight_min;
	/* Weight of a sample of the smallest block; 0 = T is not known. */
	double weight_cap;
} mw_spread_t;

/* Adds `samples` samples of one size, which represent `objects` objects of total value `value`,
 * at T = `period` (0 = not known). */
void mw_spread_add(mw_spread_t *spread, double samples, double objects, double value, double period,
		   bool is_bytes);
/* Adds sample `i` of the profile with its value of the type. */
void mw_spread_add_sample(mw_spread_t *spread, const mw_profile_t *profile, size_t i, size_t type,
			  const mw_interval_types_t *types);
void mw_spread_merge(mw_spread_t *spread, const mw_spread_t *other);

typedef struct mw_interval {
	int64_t low, high;
} mw_interval_t;

/* Returns the interval that holds the true sum of the type with probability 0.95.  Both ends
 * equal the sum if the profile is exact or does not tell its error. */
mw_interval_t mw_interval_of_total(const mw_profile_t *profile, size_t type);
/* Returns the interval of the difference of two independent estimates. */
mw_interval_t mw_interval_of_difference(int64_t left, mw_interval_t left_range, int64_t right,
					mw_interval_t right_range);

/* Returns the interval that holds the true value with probability 0.95.  The interval contains
 * the estimate. */
mw_interval_t mw_interval_of(int64_t estimate, const mw_spread_t *spread);

#endif
