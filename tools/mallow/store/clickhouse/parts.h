/* SPDX-License-Identifier: MIT
 * parts.h -- what the files of this folder have for each other; `self` is a mw_clickhouse_t.
 * Layer: store. */
#ifndef MW_TOOL_STORE_CLICKHOUSE_PARTS_H
#define MW_TOOL_STORE_CLICKHOUSE_PARTS_H

#include "store/backend.h"
#include "store/clickhouse/connection.h"

/* Seconds of a day and of an hour. */
#define MW_DAY_SECONDS INT64_C(86400)
#define MW_HOUR_SECONDS INT64_C(3600)
#define MW_SECOND_NS INT64_C(1000000000)

/* schema.c: makes sure that the tables exist, and are of this version. */
int mw_clickhouse_ready(mw_clickhouse_t *self, mw_error_t *error);

/* put_rows.c */
int mw_clickhouse_put(void *self, const mw_put_t *put, const mw_batch_t *batch, bool *may_retry,
		      mw_error_t *error);
/* Writes names of a location: five arrays. */
void mw_clickhouse_write_lines(mw_row_bytes_t *out, const mw_row_line_t *lines, size_t count);

/* query_parts.c: parts of queries. */
/* First and last nanosecond, and day, of a range, of the times that a store may have. */
int64_t mw_part_first_ns(const mw_range_t *range);
int64_t mw_part_last_ns(const mw_range_t *range);
void mw_part_days(const mw_range_t *range, int64_t *first, int64_t *last);
/* Adds the conditions on the column "day". */
void mw_part_add_days(mw_sql_t *sql, const mw_range_t *range);
/* Adds the conditions on rows of profiles. */
void mw_part_add_where(mw_sql_t *sql, const mw_range_t *range);
/* Adds what the rows of an answer are about: the service, or the value of range->by. */
void mw_part_add_group(mw_sql_t *sql, const mw_range_t *range);
/* Adds a query with a row for each profile that is added up.  Its columns are a (attempt), s
 * (service), i (instance), t (time), v0 to v3 (the values); if `sum` is the newest, also h (host),
 * r (version) and g (mw_part_add_group()). */
void mw_part_add_profiles(mw_sql_t *sql, const mw_range_t *range, mw_sum_t sum);
/* Adds the sums of the columns PREFIX0 to PREFIX3. */
void mw_part_add_sums(mw_sql_t *sql, const char *prefix);
/* Adds the sums of the columns of samples, with the names PREFIX0 to PREFIX3. */
void mw_part_add_sample_sums(mw_sql_t *sql, const char *prefix);

/* Which parts of a range are read from hours, and which from samples. */
typedef struct mw_hours {
	uint64_t *runs; /* that have added hours up; 0 of them: all is read from samples */
	size_t run_count;
	/* The rest of the range: seconds since 1970, the last one included. */
	struct mw_span {
		int64_t first, last;
	} * rest;
	size_t rest_count, rest_capacity;
} mw_hours_t;

/* Adds "samples WHERE ...", or with hours a query within brackets. */
void mw_part_add_samples(mw_sql_t *sql, const mw_range_t *range, mw_sum_t sum,
			 const mw_hours_t *hours);

/* hours.c: finds hours that lie in the range as a whole, and that have the same profiles as when
 * they were added up.  None if it is not worth while.  The caller frees the arrays. */
int mw_clickhouse_find_hours(mw_clickhouse_t *self, const mw_range_t *range, mw_hours_t *out,
			     mw_error_t *error);

/* questions.c */
int mw_clickhouse_samples(void *self, const mw_range_t *range, mw_sum_t sum, int value, size_t most,
			  mw_batch_t *batch, int64_t other[MW_VALUES], mw_counted_t *counted,
			  mw_error_t *error);
int mw_clickhouse_timeline(void *self, const mw_range_t *range, int64_t step_ns,
			   mw_point_t **points, size_t *count, mw_error_t *error);
int mw_clickhouse_services(void *self, const mw_range_t *range, mw_service_row_t **services,
			   size_t *count, mw_error_t *error);
int mw_clickhouse_holders(void *self, const mw_range_t *range, const uint64_t *locations,
			  size_t location_count, mw_service_row_t **services, size_t *count,
			  mw_error_t *error);

/* stored_stacks.c */
int mw_clickhouse_stacks(void *self, mw_batch_t *batch, mw_error_t *error);
int mw_clickhouse_names(void *self, mw_batch_t *batch, mw_error_t *error);
/* Reads the five arrays behind a location into `lines`, which grows; texts are those of `in`. */
typedef struct mw_read_lines {
	mw_row_line_t *lines;
	size_t count, capacity;
	size_t *texts; /* private: numbers of the texts */
	size_t text_capacity;
} mw_read_lines_t;
void mw_clickhouse_read_lines(mw_row_input_t *in, mw_read_lines_t *out);
void mw_clickhouse_free_lines(mw_read_lines_t *lines);

/* pushed_symbols.c */
int mw_clickhouse_has_symbols(void *self, const char *const *build_ids, size_t count, bool *has,
			      mw_error_t *error);
int mw_clickhouse_put_symbols(void *self, const char *build_id, const mw_batch_t *batch,
			      const uint64_t *ends, mw_error_t *error);
/* Adds locations of `from` to `to`, with the names that were pushed for their build, else with
 * those they have.  Those without names are left out if `named` is set. */
int mw_clickhouse_add_named(mw_clickhouse_t *self, const mw_batch_t *from, mw_batch_t *to,
			    bool named, mw_error_t *error);

#endif
