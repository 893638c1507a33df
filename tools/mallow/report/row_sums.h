/* SPDX-License-Identifier: MIT
 * row_sums.h -- flat and cumulative sums of a profile by function or by line.
 * Layer: report.  Private to this folder. */
#ifndef MW_TOOL_REPORT_ROW_SUMS_H
#define MW_TOOL_REPORT_ROW_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"
#include "report/interval.h"

typedef struct mw_row {
	const char *name; /* name of the function, or module and offset */
	char *own_name;   /* memory of `name` if that is a module and offset; else NULL */
	mw_string_t file; /* source file with the largest part of the value; 0 = not known */
	int64_t line;
	size_t other_lines;      /* number of places in this function besides file:line */
	int64_t flat;            /* value of stacks whose leaf is this row */
	int64_t cum;             /* value of stacks that contain this row, each counted once */
	mw_spread_t flat_spread; /* uncertainty of `flat`; zero if it is not known */
	/* Fewest calls between this row and a leaf; orders rows of equal values. */
	size_t distance;
} mw_row_t;

typedef struct mw_sums {
	mw_row_t *rows; /* rows, largest first */
	size_t row_count;
	int64_t total;
	mw_spread_t spread;
	size_t stack_count; /* samples with a value; parts of one stack count once */
} mw_sums_t;

/* Adds up the values of sample type `type`. by_line: a row for each function and line, otherwise
 * for each function.  Strings belong to `profile` and `sums`. */
void mw_sums_init(mw_sums_t *sums, const mw_profile_t *profile, size_t type, bool by_line,
		  bool sort_by_cum);
void mw_sums_release(mw_sums_t *sums);

/* Writes "dir/file.c:12", or "file.c:12" if `is_short`.  Unless `by_line`, " (+2 lines)" follows
 * if the row has more places.  "" = the place is not known, or the name has it. */
void mw_row_place(const mw_profile_t *profile, const mw_row_t *row, bool by_line, bool is_short,
		  char *buffer, size_t size);
/* True if the function's name has the place already, as JavaScript's have: "pack app.js:2:45". */
bool mw_name_has_place(const char *name, const char *file, int64_t line);

#endif
