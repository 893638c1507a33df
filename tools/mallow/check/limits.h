/* SPDX-License-Identifier: MIT
 * limits.h -- is a profile within what was agreed upon?
 * Layer: tools/check. */
#ifndef MW_TOOL_CHECK_LIMITS_H
#define MW_TOOL_CHECK_LIMITS_H

#include "model/error.h"
#include "report/stacks.h"

/* What a limit is on. */
typedef enum mw_limit_kind {
	MW_LIMIT_PEAK,   /* bytes at the peak */
	MW_LIMIT_LIVE,   /* bytes in use */
	MW_LIMIT_GROWTH, /* bytes in use more than the baseline's */
	MW_LIMIT_KINDS,
} mw_limit_kind_t;

/* "max-peak", ... */
const char *mw_limit_name(mw_limit_kind_t kind);

/* "200M", "0", "1.5G"; with `percent` not NULL also "5%", which is then filled in (else it becomes
 * negative).  False: neither. */
bool mw_limit_parse(const char *text, int64_t *bytes, double *percent);

typedef struct mw_finding {
	mw_limit_kind_t kind;
	int64_t measured, allowed;
	int64_t low, high; /* 95 in 100: the true value; equal where the profile does not tell */
	int64_t baseline;  /* bytes in use there; growth only */
	bool passed;
	mw_stacks_t stacks; /* that the value is made of, largest first; of the profile's samples */
} mw_finding_t;

/* `profile` (for growth: with the baseline subtracted, `baseline` bytes were in use there).  The
 * caller releases the stacks. */
int mw_limit_check(mw_limit_kind_t kind, const mw_profile_t *profile, int64_t allowed,
		   int64_t baseline, mw_finding_t *finding, mw_error_t *error);

#endif
