/* SPDX-License-Identifier: MIT
 * slopes.h -- growth of each function over several profiles, by least squares.
 * Layer: view/table.  Profiles are added one by one and may be freed after that. */
#ifndef MW_TOOL_VIEW_TABLE_SLOPES_H
#define MW_TOOL_VIEW_TABLE_SLOPES_H

#include "view/table/changes.h"

typedef struct mw_slopes mw_slopes_t;

mw_slopes_t *mw_slopes_new(size_t profile_count);
void mw_slopes_free(mw_slopes_t *slopes);

/* Adds what the view selects of profile `k`, which is of the time `time_ns`. */
void mw_slopes_add(mw_slopes_t *slopes, size_t k, const mw_view_t *view, int64_t time_ns);

/* Makes the rows of the table, for view->changes, after all profiles were added.  Functions that
 * changed by less than the share view->graph.node_fraction are left out.  The caller frees
 * changes->rows; names are valid as long as the slopes. -1: all profiles are of one moment. */
int mw_slopes_fit(mw_slopes_t *slopes, mw_view_t *view, mw_changes_t *changes, mw_error_t *error);

#endif
