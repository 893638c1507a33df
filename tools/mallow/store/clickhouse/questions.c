/* SPDX-License-Identifier: MIT
 * questions.c -- samples, timeline, services, and who holds some locations.
 * A profile is there if it has a row of profiles; if it has two, by two attempts whose answers were
 * lost, one of them is taken.  Rows of samples count if their attempt is taken.  A query within a
 * query is GLOBAL: in a cluster it is run once, over all servers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "store/clickhouse/parts.h"

/* Most points of a timeline and services of an answer. */
#define ROWS_MAX 1000000

static void read_values(mw_row_input_t *in, int64_t values[MW_VALUES]) {
	for (int i = 0; i < MW_VALUES; i++)
		values[i] = mw_row_read_i64(in);
}

/* Ends a query, and sends it. */
static int ask(mw_clickhouse_t *self, mw_sql_t *sql, mw_answer_t *answer, mw_row_input_t *in,
	       mw_error_t *error) {
	mw_sql_add(sql, " FORMAT RowBinary");
	int result = mw_clickhouse_query(self, sql, answer, error);
	*in = mw_row_input_of(answer->body, answer->length);
	return result;
}

/* Frees what ask() has made.  Returns 0, or -1 if the answer was broken. */
static int end(mw_clickhouse_t *self, int result, mw_answer_t *answer, mw_row_input_t *in,
	       mw_error_t *error) {
	if (result == 0 && in->is_broken)
		result = mw_clickhouse_bad_answer(self, error);
	mw_row_input_free(in);
	free(answer->body);
	return result;
}

static int begin(mw_clickhouse_t *self, const mw_range_t *range, mw_error_t *error) {
	mw_part_days(range, &self->first_day, &self->last_day);
	return mw_clickhouse_ready(self, error);
}

static int count(mw_clickhouse_t *self, const mw_range_t *range, mw_sum_t sum,
		 mw_counted_t *counted, mw_error_t *error) {
	mw_sql_t sql = {0};
	mw_answer_t answer;
	mw_row_input_t in;
	mw_sql_add(&sql, "SELECT count(), uniqExact(s, i), max(t), ");
	mw_part_add_sums(&sql, "v");
	mw_sql_add(&sql, " FROM (");
	mw_part_add_profiles(&sql, range, sum);
	mw_sql_add(&sql, ")");
	int result = ask(self, &sql, &answer, &in, error);
	if (result == 0 && mw_row_next(&in)) {
		counted->profiles = mw_row_read_u64(&in);
		counted->instances = mw_row_read_u64(&in);
		counted->newest_ns = mw_row_read_i64(&in);
		read_values(&in, counted->totals);
	}
	return end(self, result, &answer, &in, error);
}

/* Reads "1\t-2\n".  False: it is not that. */
static bool read_numbers(const char **at, uint64_t *id, int64_t values[MW_VALUES]) {
	char *after;
	*id = strtoull(*at, &after, 10);
	for (int i = 0; i < MW_VALUES; i++) {
		if (after == *at || *after != '\t')
			return false;
		*at = after + 1;
		values[i] = strtoll(*at, &after, 10);
	}
	if (after == *at || *after != '\n')
		return false;
	*at = after + 1;
	return true;
}

/* Reads the rows, then the totals, which follow an empty line.  What is in the totals and not in
 * the rows is other, if there are as many rows as were asked for.  This format has the totals in
 * the same answer, so that they are of one moment. */
static int read_samples(mw_clickhouse_t *self, const mw_answer_t *answer, size_t most,
			mw_batch_t *batch, int64_t other[MW_VALUES], int64_t totals[MW_VALUES],
			mw_error_t *error) {
	const char *at = answer->body;
	int64_t seen[MW_VALUES] = {0}, values[MW_VALUES];
	uint64_t stack;
	size_t rows = 0;
	if (strlen(at) != answer->length)
		return mw_clickhouse_bad_answer(self, error);
	while (*at != '\0' && *at != '\n') {
		if (!read_numbers(&at, &stack, values))
			return mw_clickhouse_bad_answer(self, error);
		for (int i = 0; i < MW_VALUES; i++)
			seen[i] = mw_row_sum(seen[i], values[i]);
		mw_batch_add_sample(batch, stack, values);
		rows++;
	}
	if (at[0] == '\0' && at == answer->body)
		return 0;
	if (*at++ != '\n' || !read_numbers(&at, &stack, totals) || *at != '\0')
		return mw_clickhouse_bad_answer(self, error);
	for (int i = 0; i < MW_VALUES && rows >= most; i++) {
		int64_t minus = seen[i] == INT64_MIN ? INT64_MAX : -seen[i];
		other[i] = mw_row_sum(other[i], mw_row_sum(totals[i], minus));
	}
	return 0;
}

int mw_clickhouse_samples(void *context, const mw_range_t *range, mw_sum_t sum, int value,
			  size_t most, mw_batch_t *batch, int64_t other[MW_VALUES],
			  mw_counted_t *counted, mw_error_t *error) {
	mw_clickhouse_t *self = context;
	mw_sql_t sql = {0};
	mw_answer_t answer;
	mw_hours_t hours = {0};
	if (begin(self, range, error) != 0 || count(self, range, sum, counted, error) != 0)
		return -1;
	if (counted->profiles > 0)
		self->last_day = counted->newest_ns / MW_SECOND_NS / MW_DAY_SECONDS;
	/* The server makes no totals of no rows. */
	for (int i = 0; i < MW_VALUES && most == 0; i++)
		other[i] = mw_row_sum(other[i], counted->totals[i]);
	if (counted->profiles == 0 || most == 0)
		return 0;
	if (sum == MW_SUM_ALL && mw_clickhouse_find_hours(self, range, &hours, error) != 0)
		return -1;
	mw_sql_add(&sql, "SELECT stack, ");
	mw_part_add_sample_sums(&sql, "v");
	mw_sql_add(&sql, " FROM ");
	mw_part_add_samples(&sql, range, sum, &hours);
	mw_sql_add(&sql,
		   " GROUP BY stack WITH TOTALS ORDER BY abs(v%d) DESC, stack LIMIT %zu "
		   "FORMAT TabSeparated",
		   value, most < MW_READ_ENTRIES_MAX ? most : MW_READ_ENTRIES_MAX);
	free(hours.runs);
	free(hours.rest);
	int result = mw_clickhouse_query(self, &sql, &answer, error);
	if (result == 0)
		result = read_samples(self, &answer, most, batch, other, counted->totals, error);
	free(answer.body);
	return result;
}

int mw_clickhouse_timeline(void *context, const mw_range_t *range, int64_t step_ns,
			   mw_point_t **points, size_t *point_count, mw_error_t *error) {
	mw_clickhouse_t *self = context;
	mw_sql_t sql = {0};
	mw_answer_t answer;
	mw_row_input_t in;
	size_t capacity = 0;
	*points = NULL;
	*point_count = 0;
	if (begin(self, range, error) != 0)
		return -1;
	mw_sql_add(&sql, "SELECT intDiv(t, %" PRId64 ") AS step, count(), uniqExact(s, i), ",
		   step_ns);
	mw_part_add_sums(&sql, "v");
	mw_sql_add(&sql, " FROM (");
	mw_part_add_profiles(&sql, range, MW_SUM_ALL);
	mw_sql_add(&sql, ") GROUP BY step ORDER BY step LIMIT %d", ROWS_MAX);
	int result = ask(self, &sql, &answer, &in, error);
	while (result == 0 && mw_row_next(&in)) {
		*points = mw_grow(*points, &capacity, *point_count + 1, sizeof(**points));
		mw_point_t *point = &(*points)[(*point_count)++];
		int64_t step = mw_row_read_i64(&in);
		if (__builtin_mul_overflow(step, step_ns, &point->time_ns))
			in.is_broken = true;
		point->profiles = mw_row_read_u64(&in);
		point->instances = mw_row_read_u64(&in);
		read_values(&in, point->totals);
	}
	result = end(self, result, &answer, &in, error);
	if (result != 0) {
		free(*points);
		*points = NULL;
		*point_count = 0;
	}
	return result;
}

static void free_services(mw_service_row_t **services, size_t *service_count) {
	for (size_t i = 0; i < *service_count; i++)
		free((*services)[i].service);
	free(*services);
	*services = NULL;
	*service_count = 0;
}

/* Sends a query whose rows are those of services. */
static int read_services(mw_clickhouse_t *self, mw_sql_t *sql, mw_service_row_t **services,
			 size_t *service_count, mw_error_t *error) {
	mw_answer_t answer;
	mw_row_input_t in;
	size_t capacity = 0;
	*services = NULL;
	*service_count = 0;
	int result = ask(self, sql, &answer, &in, error);
	while (result == 0 && mw_row_next(&in)) {
		*services = mw_grow(*services, &capacity, *service_count + 1, sizeof(**services));
		mw_service_row_t *row = &(*services)[(*service_count)++];
		size_t name = mw_row_read_text(&in);
		row->service = mw_xstrdup(mw_row_text(&in, name));
		row->profiles = mw_row_read_u64(&in);
		row->instances = mw_row_read_u64(&in);
		row->hosts = mw_row_read_u64(&in);
		row->versions = mw_row_read_u64(&in);
		row->newest_ns = mw_row_read_i64(&in);
		read_values(&in, row->totals);
	}
	result = end(self, result, &answer, &in, error);
	if (result != 0)
		free_services(services, service_count);
	return result;
}

int mw_clickhouse_services(void *context, const mw_range_t *range, mw_service_row_t **services,
			   size_t *service_count, mw_error_t *error) {
	mw_clickhouse_t *self = context;
	mw_sql_t sql = {0};
	*services = NULL;
	*service_count = 0;
	if (begin(self, range, error) != 0)
		return -1;
	/* What is counted over all profiles, and what is of the newest; one row of each makes one.
	 */
	mw_sql_add(&sql, "SELECT g, sum(n), sum(ni), sum(nh), sum(nv), max(t), sum(w0), sum(w1), "
			 "sum(w2), sum(w3) FROM (SELECT ");
	mw_part_add_group(&sql, range);
	mw_sql_add(&sql, " AS g, uniqExact(number) AS n, uniqExact(service, instance) AS ni, "
			 "uniqExact(host) AS nh, uniqExact(version) AS nv, toInt64(0) AS t, "
			 "toInt64(0) AS w0, toInt64(0) AS w1, toInt64(0) AS w2, toInt64(0) AS w3 "
			 "FROM profiles WHERE ");
	mw_part_add_where(&sql, range);
	mw_sql_add(&sql, " GROUP BY g UNION ALL SELECT g, toUInt64(0) AS n, toUInt64(0) AS ni, "
			 "toUInt64(0) AS nh, toUInt64(0) AS nv, max(t), ");
	mw_part_add_sums(&sql, "v");
	mw_sql_add(&sql, " FROM (");
	mw_part_add_profiles(&sql, range, MW_SUM_NEWEST);
	mw_sql_add(&sql, ") GROUP BY g) GROUP BY g ORDER BY g LIMIT %d", ROWS_MAX);
	return read_services(self, &sql, services, service_count, error);
}

int mw_clickhouse_holders(void *context, const mw_range_t *range, const uint64_t *locations,
			  size_t location_count, mw_service_row_t **services, size_t *service_count,
			  mw_error_t *error) {
	mw_clickhouse_t *self = context;
	mw_sql_t sql = {0};
	static const mw_hours_t no_hours;
	*services = NULL;
	*service_count = 0;
	if (begin(self, range, error) != 0)
		return -1;
	mw_sql_add(&sql,
		   "SELECT g, count(), uniqExact(s, i), uniqExact(h), uniqExact(r), max(t), ");
	mw_part_add_sums(&sql, "w");
	mw_sql_add(&sql, " FROM (SELECT attempt AS a, ");
	mw_part_add_sample_sums(&sql, "w");
	mw_sql_add(&sql, " FROM ");
	mw_part_add_samples(&sql, range, MW_SUM_NEWEST, &no_hours);
	mw_sql_add(&sql, " AND stack GLOBAL IN (SELECT stack FROM stacks ARRAY JOIN locations AS l "
			 "WHERE ");
	mw_part_add_days(&sql, range);
	mw_sql_add(&sql, " AND l IN (");
	mw_sql_add_ids(&sql, locations, location_count);
	mw_sql_add(&sql, ")) GROUP BY a) GLOBAL ALL INNER JOIN (");
	mw_part_add_profiles(&sql, range, MW_SUM_NEWEST);
	mw_sql_add(&sql, ") USING a GROUP BY g ORDER BY g LIMIT %d", ROWS_MAX);
	return read_services(self, &sql, services, service_count, error);
}
