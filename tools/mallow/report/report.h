/* SPDX-License-Identifier: MIT
 * report.h -- prints the flat/cum table of a profile as text.
 * Layer: report.  The folder's door. row_sums.h adds up by function or line, stacks.h by stack,
 * interval.h computes errors; report.c and stacks_text.c print. */
#ifndef MW_TOOL_REPORT_REPORT_H
#define MW_TOOL_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "model/error.h"
#include "model/profile.h"

typedef struct mw_report_options {
	const char *sample_type; /* name of a type; NULL = the profile's default, inuse_space */
	bool by_line;            /* a row is a function and a line instead of a function */
	bool sort_by_cum;
	size_t row_limit; /* most rows; 0 = no limit */
	int columns;      /* width of the terminal; 0 = no terminal, and names are never cut */
	bool no_header;   /* prints only the table */
	bool only_flat;   /* leaves out functions that allocate nothing themselves */
	bool intervals;   /* adds the interval of each flat value */
	bool stacks;      /* prints everything about each stack instead of the table */
} mw_report_options_t;

/* Prints the table of a symbolized profile.  Locations without names are shown by module and
 * offset.  `options` may be NULL. Fails if the profile has no such type; the error names its
 * types. */
int mw_report_print(FILE *out, const mw_profile_t *profile, const mw_report_options_t *options,
		    mw_error_t *error);

#endif
