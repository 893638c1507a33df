/* SPDX-License-Identifier: MIT
 * interval.h -- how far off an estimate may be.
 * Layer: tools/report.  Derivation: doc/sampling.md, "How far off one estimate is". */
#ifndef MW_TOOL_REPORT_INTERVAL_H
#define MW_TOOL_REPORT_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

/* What tells the variance of one sample type; -1: the profile does not say. */
typedef struct mw_interval_types {
	int objects;
	int samples;
} mw_interval_types_t;

/* False: nothing is known of how well `type` is estimated. */
bool mw_interval_types_find(const mw_profile_t *profile, size_t type, mw_interval_types_t *types);

/* The estimated variance of the type's value of sample `i`. */
double mw_interval_variance(const mw_profile_t *profile, size_t i, size_t type,
			    const mw_interval_types_t *types);

typedef struct mw_interval {
	int64_t low, high;
} mw_interval_t;

/* Where the true value lies in 95 of 100 cases. */
mw_interval_t mw_interval_of(int64_t estimate, double variance);

#endif
