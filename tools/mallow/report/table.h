/* SPDX-License-Identifier: MIT
 * table.h -- flat and cumulative sums of a profile by function or line.
 * Layer: tools/report.  Private to this folder. */
#ifndef MW_TOOL_REPORT_TABLE_H
#define MW_TOOL_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

typedef struct mw_row {
	const char *name; /* function, or module+offset */
	char *own_name;   /* the latter, else NULL */
	mw_string_t file; /* where most of it comes from; 0: not known */
	int64_t line;
	size_t other_lines;   /* places in this function besides file:line */
	int64_t flat;         /* stacks that end here */
	int64_t cum;          /* stacks that come through here, each counted once */
	double flat_variance; /* of the estimate; 0 where nothing tells */
	size_t distance;      /* calls to the leaf, at least; orders rows of equal numbers */
} mw_row_t;

typedef struct mw_sums {
	mw_row_t *rows; /* sorted, largest first */
	size_t row_count;
	int64_t total;
	double variance;
	size_t stack_count; /* samples with a value, zero-size parts not apart */
} mw_sums_t;

/* The sums of sample type `type`; by_line: a row for each function and line, else one for each
 * function.  The strings belong to `profile` and `sums`. */
void mw_sums_init(mw_sums_t *sums, const mw_profile_t *profile, size_t type, bool by_line,
		  bool sort_by_cum);
void mw_sums_release(mw_sums_t *sums);

#endif
