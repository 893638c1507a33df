/* SPDX-License-Identifier: MIT
 * report.h -- the flat/cum table of a profile as text.
 * Layer: tools/report. */
#ifndef MW_TOOL_REPORT_REPORT_H
#define MW_TOOL_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "model/error.h"
#include "model/profile.h"

typedef struct mw_report_options {
	const char *sample_type; /* NULL: the profile's default (inuse_space); else a type's name */
	bool by_line;            /* rows are function and file:line instead of function */
	bool sort_by_cum;
	size_t row_limit; /* 0: no limit */
	int columns;      /* width of the terminal; 0: not a terminal, names are never cut */
	bool no_header;   /* only the table */
	bool intervals;   /* where each flat value lies in 95 of 100 cases */
	bool stacks;      /* all that is known of each stack instead of the table */
} mw_report_options_t;

/* The table of a symbolized profile (unresolved locations get their module and offset).  `options`
 * may be NULL.  Fails when the profile has no such sample type; the error names those it has. */
int mw_report_print(FILE *out, const mw_profile_t *profile, const mw_report_options_t *options,
		    mw_error_t *error);

/* "1.5 MiB", "512 B": bytes for people, at most `size` bytes with the NUL.  Returns `buffer`. */
const char *mw_format_bytes(int64_t bytes, char *buffer, size_t size);
/* "980 ns", "1.50 ms", "2.00 h": durations for people. */
const char *mw_format_nanoseconds(int64_t nanoseconds, char *buffer, size_t size);
/* "1.2M", "980": counts for people. */
const char *mw_format_count(int64_t count, char *buffer, size_t size);

#endif
