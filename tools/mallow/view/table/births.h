/* SPDX-License-Identifier: MIT
 * births.h -- when the memory in use that functions hold was allocated: sums by the label
 * MW_LABEL_MADE.
 * Layer: view/table. */
#ifndef MW_TOOL_VIEW_TABLE_BIRTHS_H
#define MW_TOOL_VIEW_TABLE_BIRTHS_H

#include "view/common/json.h"
#include "view/common/view.h"

/* Moments that a row has sums for, and most rows that have them. */
enum { MW_BIRTH_MOMENTS = 60, MW_BIRTH_ROWS = 20 };

/* Sums of one type for the first rows of a table, by time of allocation. */
typedef struct mw_births {
	int64_t from_ns, until_ns; /* CLOCK_REALTIME; both 0 = the profile has no such times */
	size_t rows;
	/* sums[row][k]: flat value of the row that was allocated in step k of the time; the last
	 * row has that of all functions. */
	int64_t sums[MW_BIRTH_ROWS + 1][MW_BIRTH_MOMENTS];
} mw_births_t;

/* Adds up the samples of a view whose table has the graph's nodes as rows. */
void mw_births_count(mw_births_t *births, const mw_view_t *view, const mw_graph_t *graph);
/* Writes the times, and for all functions what was allocated up to each moment. */
void mw_births_add_all(const mw_births_t *births, mw_json_t *json);
/* Writes what was allocated up to each moment by the function of a row; nothing if the row is none
 * of the first ones. */
void mw_births_add_row(const mw_births_t *births, size_t row, mw_json_t *json);

#endif
