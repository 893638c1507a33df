/* SPDX-License-Identifier: MIT
 * leaks_growth.h -- prints who holds memory that is in use.
 * Layer: cmd/leaks. */
#ifndef MW_TOOL_CMD_LEAKS_LEAKS_GROWTH_H
#define MW_TOOL_CMD_LEAKS_LEAKS_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"

typedef struct mw_growth_report {
	const mw_profile_t *profile; /* mw_profile_of_held(), with names */
	double seconds;              /* how old the blocks are at most */
	size_t row_limit;            /* most holders; 0 = no limit */
	int columns;                 /* width of the terminal; 0 = none */
	uint64_t missing;            /* sampled blocks that the state file had no room for */
} mw_growth_report_t;

/* Prints the program, the sum of the blocks, how old they are at most, and `condition`, which says
 * what else is true of them; then how many are sampled. */
void mw_growth_print_title(const mw_growth_report_t *report, int64_t bytes, int64_t objects,
			   const char *condition);
int mw_growth_print_text(const mw_growth_report_t *report, mw_error_t *error);
/* Prints JSON on stdout.  Returns the exit status, or -1. */
int mw_growth_print_json(const mw_growth_report_t *report, mw_error_t *error);

#endif
