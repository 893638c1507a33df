/* SPDX-License-Identifier: MIT
 * tables.h -- the views that print rows of text.
 * Layer: view/table.  The folder's door.  Read top.c first: the other views have its structure.
 * changes.h and slopes.h are the tables of diff, memory_cost.h joins two profiles; labels.c has
 * tags, sizes, lifetimes and threads.
 */
#ifndef MW_TOOL_VIEW_TABLE_TABLES_H
#define MW_TOOL_VIEW_TABLE_TABLES_H

#include "view/common/view.h"

mw_view_print_t mw_view_top;       /* flat and cumulative sums */
mw_view_print_t mw_view_diff;      /* growth between two profiles */
mw_view_print_t mw_view_jeprof;    /* flat and cumulative sums, as jeprof prints them */
mw_view_print_t mw_view_tree;      /* flat and cumulative sums, each with callers and callees */
mw_view_print_t mw_view_peek;      /* the rows of the tree that match the pattern */
mw_view_print_t mw_view_traces;    /* each stack */
mw_view_print_t mw_view_collapsed; /* "main;f;g 42" */
mw_view_print_t mw_view_tags;      /* sums by label */
mw_view_print_t mw_view_sizes;     /* sums by size of object */
mw_view_print_t mw_view_lifetimes; /* freed objects by their lifetime */
mw_view_print_t mw_view_threads;   /* sums by thread */
mw_view_print_t mw_view_comments;  /* comments of the profile's writer */
mw_view_print_t mw_view_raw;       /* the whole content of the profile */

/* Returns the table's rows as samples of the types "cum" and "flat".  The caller frees the
 * profile. */
mw_profile_t *mw_view_top_profile(const mw_view_t *view);

#endif
