/* SPDX-License-Identifier: MIT
 * index_rows.h -- enters profiles in the index, and removes days.
 * Layer: store/directory/index.  Private to the folder.  Each function runs within the caller's
 * transaction; failures are kept in the database. */
#ifndef MW_TOOL_STORE_DIRECTORY_INDEX_INDEX_ROWS_H
#define MW_TOOL_STORE_DIRECTORY_INDEX_INDEX_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/directory/index/database.h"
#include "store/profile_store.h"
#include "store/row_batch.h"

bool mw_index_has(mw_database_t *database, uint64_t number, mw_kind_t kind);
/* Changes nothing if the index has the profile already. */
void mw_index_add(mw_database_t *database, const mw_put_t *put, const mw_batch_t *batch);
/* Removes a day's profiles, and what only they used. */
void mw_index_drop_day(mw_database_t *database, int64_t day);

#endif
