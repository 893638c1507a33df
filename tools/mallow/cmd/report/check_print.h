/* SPDX-License-Identifier: MIT
 * check_print.h -- prints the results of `mallow check` for people and programs.
 * Layer: cmd/report. */
#ifndef MW_TOOL_CMD_REPORT_CHECK_PRINT_H
#define MW_TOOL_CMD_REPORT_CHECK_PRINT_H

#include <stdio.h>

#include "check/known.h"
#include "check/limits.h"
#include "check/suppress.h"

typedef struct mw_check {
	const char *name; /* name of the checked targets */
	mw_finding_t findings[MW_LIMIT_KINDS];
	/* profiles[i]: profile that the stacks of finding i refer to */
	const mw_profile_t *profiles[MW_LIMIT_KINDS];
	size_t count;
	const mw_suppressions_t *suppressions;
	mw_known_t known[MW_KNOWN_MAX]; /* stacks that were left out of memory in use */
	size_t known_count;
	size_t stacks_max; /* most stacks that are shown for a finding */
	int columns;       /* width of the terminal; 0 = names are not shortened */
} mw_check_t;

bool mw_check_passed(const mw_check_t *check);

void mw_check_print_text(FILE *out, const mw_check_t *check);
void mw_check_print_json(FILE *out, const mw_check_t *check);
void mw_check_print_junit(FILE *out, const mw_check_t *check);

#endif
