/* SPDX-License-Identifier: MIT
 * stats_columns.h -- the tables of malloc_stats_print(): their columns are declared once, for
 * the heading and for each row. Layer: compat/jemalloc.  Every cell is read by its control name.
 * Nothing is allocated. */
#ifndef MW_COMPAT_JEMALLOC_STATS_COLUMNS_H
#define MW_COMPAT_JEMALLOC_STATS_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "compat/jemalloc/stats_print.h"

typedef enum mw_table {
	MW_TABLE_LOCKS,
	MW_TABLE_SIZES, /* small, large and all blocks */
	MW_TABLE_BINS,
	MW_TABLE_LARGE,
	MW_TABLE_EXTENTS,
	MW_TABLE_SLABS,
} mw_table_t;

/* Names of the figures of a row. */
typedef struct mw_table_row {
	const char *label;         /* row label; NULL: none */
	const char *prefix, *also; /* prefixes of the names; figures below both are added (also ==
				      NULL: only `prefix`) */
	const char *sizes;         /* prefix of the size class's names (NULL: none) */
	uint64_t size, index;
	uint64_t uptime_ns; /* time over which rates are computed */
} mw_table_row_t;

/* A line while it is composed. */
typedef struct mw_table_line {
	char text[600];
	size_t length;
} mw_table_line_t;

/* Each function adds a table's text to the line, so that tables can stand side by side. */
void mw_table_add_heading(mw_table_line_t *line, mw_table_t table, const char *label);
void mw_table_add_row(mw_table_line_t *line, mw_table_t table, const mw_table_row_t *row);
/* Adds a name before a table's columns. */
void mw_table_add_label(mw_table_line_t *line, const char *label);
void mw_table_add_total(mw_table_line_t *line, const char *label, uint64_t figure);
/* Writes the line and empties it. */
void mw_table_end_line(mw_table_line_t *line, const mw_printer_t *out);

/* Returns the figure with this name below the prefix; "a+b": the sum of two figures. */
uint64_t mw_table_figure(const char *prefix, const char *name);
/* Returns count per second as jemalloc prints it: a whole number; the count itself if the time is
 * below a second; 0 if the time is 0. */
uint64_t mw_table_rate(uint64_t count, uint64_t uptime_ns);

#endif
