/* SPDX-License-Identifier: MIT
 * inputs.h -- several targets as one profile: their sum, minus the bases.
 * Layer: cmd/input. */
#ifndef MW_TOOL_CMD_INPUT_INPUTS_H
#define MW_TOOL_CMD_INPUT_INPUTS_H

#include "cmd/input/load.h"

typedef struct mw_inputs {
	const char *const *targets; /* a directory means the newest dump of each process in it */
	size_t target_count;        /* at least 1 */
	const char *const *bases;
	size_t base_count;
	bool is_diff;   /* percentages refer to the bases */
	bool normalize; /* the sum is first scaled to the bases' totals */
	mw_load_detail_t detail;
	const char *comment; /* comment to add to the profile; NULL = none */
	const char *program; /* path of the executable; NULL = the path in the profile */
} mw_inputs_t;

/* Loads the profile.  Sample types that some targets lack are dropped.  Samples from index
 * *base_first on belong to the bases, with negative values. *base_first is the number of samples
 * if there are no bases, or if bases and targets were merged (not is_diff).  The caller frees
 * *out, which is NULL after an error. */
int mw_inputs_load(const mw_inputs_t *inputs, mw_profile_t **out, size_t *base_first,
		   mw_error_t *error);

#endif
