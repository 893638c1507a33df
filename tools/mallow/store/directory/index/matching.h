/* SPDX-License-Identifier: MIT
 * matching.h -- the profiles of the index that a question is about.
 * Layer: store/directory/index.  Private to the folder. */
#ifndef MW_TOOL_STORE_DIRECTORY_INDEX_MATCHING_H
#define MW_TOOL_STORE_DIRECTORY_INDEX_MATCHING_H

#include <stdbool.h>
#include <stdint.h>

#include "store/backend.h"
#include "store/directory/index/database.h"

/* Columns of a selection. */
enum {
	MW_COLUMN_PROFILE, /* number of the profile's row */
	MW_COLUMN_TIME,
	MW_COLUMN_V0,                              /* the first of MW_VALUES sums */
	MW_COLUMN_NAME = MW_COLUMN_V0 + MW_VALUES, /* the service, or the value of range->by */
	MW_COLUMN_INSTANCE,                        /* with its service */
	MW_COLUMN_HOST,
	MW_COLUMN_VERSION,
};

/* Rows of the profiles in the range, ordered by `order` ("name", "p.time", ...).  With
 * `only_newest`, one row for each instance of each service.  The caller calls
 * mw_database_finish(). */
sqlite3_stmt *mw_matching(mw_database_t *database, const mw_range_t *range, bool only_newest,
			  const char *order);

/* Adds the sums of the current row to `totals`. */
void mw_matching_add(sqlite3_stmt *row, int64_t totals[MW_VALUES]);

#endif
