/* SPDX-License-Identifier: MIT
 * check_print.h -- what `mallow check` found, for people and for machines.
 * Layer: cmd. */
#ifndef MW_CMD_CHECK_PRINT_H
#define MW_CMD_CHECK_PRINT_H

#include <stdio.h>

#include "check/limits.h"
#include "check/suppress.h"

typedef struct mw_check {
	const char *name; /* of what was checked, for people */
	mw_finding_t findings[MW_LIMIT_KINDS];
	/* The stacks of each are of these. */
	const mw_profile_t *profiles[MW_LIMIT_KINDS];
	size_t count;
	const mw_suppressions_t *suppressions;
	size_t stacks_max; /* shown of a finding */
	int columns;       /* of the terminal the text is for; 0: names are whole */
} mw_check_t;

bool mw_check_passed(const mw_check_t *check);

void mw_check_print_text(FILE *out, const mw_check_t *check);
void mw_check_print_json(FILE *out, const mw_check_t *check);
void mw_check_print_junit(FILE *out, const mw_check_t *check);

#endif
