/* SPDX-License-Identifier: MIT
 * names.h -- names and places in the source as a table shows them.
 * Layer: tools/report.  Private to this folder. */
#ifndef MW_TOOL_REPORT_NAMES_H
#define MW_TOOL_REPORT_NAMES_H

#include <stddef.h>
#include <stdio.h>

#include "report/report.h"
#include "report/table.h"

/* "dir/file.c:12"; on a terminal "file.c:12"; " (+2 lines)" when a function's row has more places;
 * "" when nothing is known. */
void mw_report_place(const mw_profile_t *profile, const mw_row_t *row,
		     const mw_report_options_t *options, char *buffer, size_t size);

/* The columns of UTF-8 text, one a character. */
size_t mw_text_width(const char *text);
/* The bytes of its first `width` columns. */
size_t mw_text_prefix(const char *text, size_t width);

/* `name` in at most `width` columns: first template arguments go, then the middle. */
void mw_fit_name(const char *name, size_t width, char *buffer, size_t size);

/* Prints with control characters as '?': names come from files, nothing in them may steer the
 * terminal. */
void mw_print_clean(FILE *out, const char *text);

/* How many numbers a table has room for beside its names. */
typedef enum mw_room {
	MW_ROOM_ALL,
	MW_ROOM_TWO, /* flat and cum */
	MW_ROOM_ONE, /* what the rows are sorted by */
} mw_room_t;

/* `columns` 0: not a terminal. */
mw_room_t mw_room_of(int columns);

#endif
