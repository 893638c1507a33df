/* SPDX-License-Identifier: MIT
 * limits.h -- compares a profile with limits.
 * Layer: check.  The folder's door. suppress.h and known.h remove stacks before the comparison. */
#ifndef MW_TOOL_CHECK_LIMITS_H
#define MW_TOOL_CHECK_LIMITS_H

#include "model/error.h"
#include "report/stacks.h"

/* Value that a limit bounds. */
typedef enum mw_limit_kind {
	MW_LIMIT_PEAK,         /* bytes at the peak */
	MW_LIMIT_LIVE,         /* bytes in use */
	MW_LIMIT_GROWTH,       /* bytes in use minus the baseline's bytes in use */
	MW_LIMIT_PEAK_GROWTH,  /* bytes at the peak minus those at the baseline's peak */
	MW_LIMIT_ALLOC_GROWTH, /* bytes allocated, freed or not, minus the baseline's */
	MW_LIMIT_LEAKS,        /* bytes that no pointer leads to: none are allowed */
	MW_LIMIT_KINDS,
} mw_limit_kind_t;

/* Returns the name of the option, such as "max-peak". */
const char *mw_limit_name(mw_limit_kind_t kind);
/* Returns whether the limit is on the difference to a baseline. */
bool mw_limit_is_growth(mw_limit_kind_t kind);

/* Reads a limit: "200M", "0", "1.5G".  If `percent` is not NULL, "5%" is allowed, too: it fills
 * in `*percent`, which otherwise becomes negative.  False: `text` is no limit. */
bool mw_limit_parse(const char *text, int64_t *bytes, double *percent);

typedef struct mw_finding {
	mw_limit_kind_t kind;
	int64_t measured, allowed;
	/* The true value lies between them with probability 0.95; equal if the error is not
	 * known. */
	int64_t low, high;
	int64_t baseline; /* only for growth: the value of the baseline */
	/* `low` is within the limit, so it is not certain that the value exceeds the limit */
	bool passed;
	/* Stacks that make up the value, largest first; they refer to the profile's samples. */
	mw_stacks_t stacks;
} mw_finding_t;

/* Profiles that limits are checked against.  `live` is without the memory that libraries keep on
 * purpose; `whole` has it, and so have peaks and allocations. */
typedef struct mw_limit_profiles {
	const mw_profile_t *whole, *live;
	const mw_profile_t *whole_base, *live_base;     /* of the baseline; NULL = none */
	const mw_profile_t *whole_growth, *live_growth; /* the profile minus the baseline */
} mw_limit_profiles_t;

/* Returns the profile that a finding's stacks refer to. */
const mw_profile_t *mw_limit_profile(mw_limit_kind_t kind, const mw_limit_profiles_t *profiles);

/* Returns the value of the baseline. */
int64_t mw_limit_baseline(mw_limit_kind_t kind, const mw_limit_profiles_t *profiles);

/* Compares one value with its limit.  The caller releases the stacks of `out`. */
int mw_limit_check(mw_limit_kind_t kind, const mw_limit_profiles_t *profiles, int64_t allowed,
		   mw_finding_t *finding, mw_error_t *error);

#endif
