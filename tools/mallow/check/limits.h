/* SPDX-License-Identifier: MIT
 * limits.h -- compares a profile with limits.
 * Layer: check.  The folder's door. suppress.h and known.h remove stacks before the comparison. */
#ifndef MW_TOOL_CHECK_LIMITS_H
#define MW_TOOL_CHECK_LIMITS_H

#include "model/error.h"
#include "report/stacks.h"

/* Value that a limit bounds. */
typedef enum mw_limit_kind {
	MW_LIMIT_PEAK,   /* bytes at the peak */
	MW_LIMIT_LIVE,   /* bytes in use */
	MW_LIMIT_GROWTH, /* bytes in use minus the baseline's bytes in use */
	MW_LIMIT_LEAKS,  /* bytes that no pointer leads to: none are allowed */
	MW_LIMIT_KINDS,
} mw_limit_kind_t;

/* Returns the name of the option: "max-peak", "max-live", "max-growth",
 * "leaks". */
const char *mw_limit_name(mw_limit_kind_t kind);

/* Reads a limit: "200M", "0", "1.5G".  If `percent` is not NULL, "5%" is allowed, too: it fills
 * in `*percent`, which otherwise becomes negative.  False: `text` is no limit. */
bool mw_limit_parse(const char *text, int64_t *bytes, double *percent);

typedef struct mw_finding {
	mw_limit_kind_t kind;
	int64_t measured, allowed;
	/* The true value lies between them with probability 0.95; equal if the error is not
	 * known. */
	int64_t low, high;
	int64_t baseline; /* only for growth: bytes in use in the baseline */
	/* `low` is within the limit, so it is not certain that the value exceeds the limit */
	bool passed;
	/* Stacks that make up the value, largest first; they refer to the profile's samples. */
	mw_stacks_t stacks;
} mw_finding_t;

/* Profiles that limits are checked against. */
typedef struct mw_limit_profiles {
	const mw_profile_t *peak;   /* checked against max-peak */
	const mw_profile_t *live;   /* checked against max-live, max-growth and leaks */
	const mw_profile_t *base;   /* the baseline; NULL = none */
	const mw_profile_t *growth; /* `live` minus `base`; NULL = no baseline */
} mw_limit_profiles_t;

/* Returns the profile that a finding's stacks refer to. */
const mw_profile_t *mw_limit_profile(mw_limit_kind_t kind, const mw_limit_profiles_t *profiles);

/* Returns the bytes in use. */
int64_t mw_limit_live_bytes(const mw_profile_t *profile);

/* Compares one value with its limit.  The caller releases the stacks of `out`. */
int mw_limit_check(mw_limit_kind_t kind, const mw_limit_profiles_t *profiles, int64_t allowed,
		   mw_finding_t *finding, mw_error_t *error);

#endif
