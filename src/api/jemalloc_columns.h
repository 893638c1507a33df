/* SPDX-License-Identifier: MIT
 * jemalloc_columns.h -- the tables of malloc_stats_print(): their columns are declared once, for
 * the heading and for each row. Layer: api.  Every cell is read by its control name.  Nothing is
 * allocated. */
#ifndef MW_API_JEMALLOC_COLUMNS_H
#define MW_API_JEMALLOC_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "api/jemalloc_print.h"

typedef enum mw_table {
	MW_TABLE_LOCKS,
	MW_TABLE_SIZES, /* small, large and all blocks */
	MW_TABLE_BINS,
	MW_TABLE_LARGE,
	MW_TABLE_EXTENTS,
	MW_TABLE_SLABS,
} mw_table_t;

/* Where a row's figures are. */
typedef struct mw_table_row {
	const char *label;         /* NULL: none */
	const char *prefix, *also; /* of the names; figures below both are added up (NULL: one) */
	const char *sizes;         /* prefix of what is true of the size class (NULL: none) */
	uint64_t size, index;
	uint64_t uptime_ns; /* what rates go by */
} mw_table_row_t;

/* A line that is being put together. */
typedef struct mw_table_line {
	char text[600];
	size_t length;
} mw_table_line_t;

/* Each adds to the line what the table has: several tables can stand side by side. */
void mw_table_add_heading(mw_table_line_t *line, mw_table_t table, const char *label);
void mw_table_add_row(mw_table_line_t *line, mw_table_t table, const mw_table_row_t *row);
/* A name before a table's columns, and one with a single figure below the first of them. */
void mw_table_add_label(mw_table_line_t *line, const char *label);
void mw_table_add_total(mw_table_line_t *line, const char *label, uint64_t figure);
/* Writes it, and empties it. */
void mw_table_end_line(mw_table_line_t *line, const mw_printer_t *out);

/* The figure below the prefix; "a+b": the sum of both. */
uint64_t mw_table_figure(const char *prefix, const char *name);
/* A second, of what happened in so long, as jemalloc has it: whole numbers, and none of a moment.
 */
uint64_t mw_table_rate(uint64_t count, uint64_t uptime_ns);

#endif
