/* SPDX-License-Identifier: MIT
 * query.h -- answers from the index.
 * Layer: store/directory/index.  Private to the folder.  The functions are those of mw_backend_t
 * (store/backend.h), of a database. */
#ifndef MW_TOOL_STORE_DIRECTORY_INDEX_QUERY_H
#define MW_TOOL_STORE_DIRECTORY_INDEX_QUERY_H

#include "store/backend.h"
#include "store/directory/index/database.h"

void mw_query_samples(mw_database_t *database, const mw_range_t *range, mw_sum_t sum,
		      mw_batch_t *batch, mw_counted_t *counted);
void mw_query_stacks(mw_database_t *database, mw_batch_t *batch);
mw_point_t *mw_query_timeline(mw_database_t *database, const mw_range_t *range, int64_t step_ns,
			      size_t *count);
mw_service_row_t *mw_query_services(mw_database_t *database, const mw_range_t *range,
				    size_t *count);
void mw_query_names(mw_database_t *database, mw_batch_t *batch);
mw_service_row_t *mw_query_holders(mw_database_t *database, const mw_range_t *range,
				   const uint64_t *locations, size_t location_count, size_t *count);

#endif
