/* SPDX-License-Identifier: MIT
 * inputs.h -- several targets as one profile: their sum, less what is to be subtracted.
 * Layer: cmd. */
#ifndef MW_CMD_INPUTS_H
#define MW_CMD_INPUTS_H

#include "cmd/load.h"

typedef struct mw_inputs {
	const char *const *targets; /* of a directory: the newest dump of each process */
	size_t target_count;        /* >= 1 */
	const char *const *bases;
	size_t base_count;
	bool is_diff;   /* percentages are of the bases */
	bool normalize; /* the sum is scaled to the bases' total first */
	mw_load_detail_t detail;
	const char *comment; /* added to the profile's; NULL: none */
	const char *program; /* the executable of the profiles; NULL: as they say */
} mw_inputs_t;

/* Sample types that not all of them have are left out.  The samples from number *base_first on are
 * those of the bases, negated; with none, and where they were summed up with the others (not
 * is_diff), that is the number of samples.  The caller frees *out, which is NULL
 * after an error. */
int mw_inputs_load(const mw_inputs_t *inputs, mw_profile_t **out, size_t *base_first,
		   mw_error_t *error);

#endif
