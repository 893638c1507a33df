/* SPDX-License-Identifier: MIT
 * hours.c -- samples added up by hour and stack, for questions about all services or many days.
 * An hour is used only while it has as many rows of profiles as when it was added up: rows are
 * added, and removed by the day together with the hours. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/memory.h"
#include "store/clickhouse/clickhouse.h"
#include "store/clickhouse/parts.h"

/* A service's samples of fewer days are added up faster than its hours are looked for. */
#define WORTH_DAYS 2
/* Adding up an hour of a large fleet takes seconds; a loaded server gets this. */
#define JOB_SECONDS 600.0

#define HOUR_NS (MW_HOUR_SECONDS * MW_SECOND_NS)

typedef struct hour {
	uint32_t hour; /* its first second since 1970 */
	uint64_t profiles;
	uint64_t run; /* that has added up these profiles; 0 = none */
} hour_t;

/* Reads the hours of the range that have profiles.  The caller frees *out. */
static int read_hours(mw_clickhouse_t *self, const mw_range_t *range, hour_t **out, size_t *count,
		      mw_error_t *error) {
	mw_sql_t sql = {0};
	mw_answer_t answer;
	size_t capacity = 0;
	*out = NULL;
	*count = 0;
	mw_sql_add(&sql, "SELECT h, max(p), max(r) FROM (SELECT "
			 "toUInt32(intDiv(toUInt32(ts), 3600) * 3600) AS h, count() AS p, "
			 "toUInt64(0) AS r FROM profiles WHERE ");
	mw_part_add_days(&sql, range);
	/* Runs of as many profiles as there are now. */
	mw_sql_add(&sql, " GROUP BY h UNION ALL SELECT h, p, r FROM (SELECT hour AS h, "
			 "profiles AS p, run AS r FROM hours_made WHERE ");
	mw_part_add_days(&sql, range);
	mw_sql_add(&sql, ") GLOBAL ALL INNER JOIN (SELECT "
			 "toUInt32(intDiv(toUInt32(ts), 3600) * 3600) AS h, count() AS p "
			 "FROM profiles WHERE ");
	mw_part_add_days(&sql, range);
	mw_sql_add(&sql, " GROUP BY h) USING h, p) GROUP BY h ORDER BY h FORMAT RowBinary");
	int result = mw_clickhouse_query(self, &sql, &answer, error);
	mw_row_input_t in = mw_row_input_of(answer.body, answer.length);
	while (result == 0 && mw_row_next(&in)) {
		hour_t hour = {.hour = mw_row_read_u32(&in)};
		hour.profiles = mw_row_read_u64(&in);
		hour.run = mw_row_read_u64(&in);
		int64_t begin_ns = hour.hour * MW_SECOND_NS;
		if (begin_ns < range->from_ns || begin_ns + HOUR_NS > range->until_ns)
			continue;
		*out = mw_grow(*out, &capacity, *count + 1, sizeof(**out));
		(*out)[(*count)++] = hour;
	}
	if (result == 0 && in.is_broken)
		result = mw_clickhouse_bad_answer(self, error);
	mw_row_input_free(&in);
	free(answer.body);
	if (result != 0) {
		free(*out);
		*out = NULL;
		*count = 0;
	}
	return result;
}

/* Adds seconds to the rest. */
static void add_rest(mw_hours_t *out, int64_t first, int64_t last) {
	if (first > last)
		return;
	if (out->rest_count > 0 && out->rest[out->rest_count - 1].last + 1 >= first) {
		out->rest[out->rest_count - 1].last = last;
		return;
	}
	out->rest =
		mw_grow(out->rest, &out->rest_capacity, out->rest_count + 1, sizeof(*out->rest));
	out->rest[out->rest_count++] = (struct mw_span){first, last};
}

/* The rest are the parts of hours at both ends of the range, and hours with profiles that no run
 * has added up. */
static void split(const mw_range_t *range, const hour_t *hours, size_t count, mw_hours_t *out) {
	const int64_t hour = MW_HOUR_SECONDS;
	int64_t first_ns = mw_part_first_ns(range), last_ns = mw_part_last_ns(range);
	int64_t first = first_ns / MW_SECOND_NS, last = last_ns / MW_SECOND_NS;
	/* Whole hours begin and end here. */
	int64_t first_hour = (first_ns + HOUR_NS - 1) / HOUR_NS * hour;
	int64_t end_hour = (last_ns + 1) / HOUR_NS * hour;
	out->runs = mw_xcalloc(count, sizeof(*out->runs));
	if (end_hour <= first_hour) {
		add_rest(out, first, last);
		return;
	}
	add_rest(out, first, first_hour - 1);
	for (size_t i = 0; i < count; i++) {
		if (hours[i].run != 0)
			out->runs[out->run_count++] = hours[i].run;
		else
			add_rest(out, hours[i].hour, hours[i].hour + hour - 1);
	}
	add_rest(out, end_hour, last);
}

int mw_clickhouse_find_hours(mw_clickhouse_t *self, const mw_range_t *range, mw_hours_t *out,
			     mw_error_t *error) {
	hour_t *hours;
	size_t count;
	*out = (mw_hours_t){0};
	int64_t first, last;
	mw_part_days(range, &first, &last);
	if (range->where_count > 0 || (range->service != NULL && last - first < WORTH_DAYS))
		return 0;
	if (read_hours(self, range, &hours, &count, error) != 0)
		return -1;
	split(range, hours, count, out);
	free(hours);
	return 0;
}

/* Adds up one hour, and says so at last. */
static int add_up(mw_clickhouse_t *self, const hour_t *hour, mw_error_t *error) {
	mw_sql_t sql = {0};
	uint64_t run;
	int64_t day = hour->hour / MW_DAY_SECONDS;
	char range[256];
	if (mw_clickhouse_random(&run, error) != 0)
		return -1;
	snprintf(range, sizeof(range),
		 "day = toDate(%" PRId64 ") AND ts >= toDateTime(%" PRIu32
		 ") AND ts < toDateTime(%" PRIu32 ")",
		 day, hour->hour, hour->hour + (uint32_t)MW_HOUR_SECONDS);
	mw_sql_add(&sql,
		   "INSERT INTO hours (day, hour, run, service, kind, stack, now_count, "
		   "now_amount, since_count, since_amount) SELECT toDate(%" PRId64
		   "), toUInt32(%" PRIu32 "), toUInt64(%" PRIu64 "), service, kind, stack, ",
		   day, hour->hour, run);
	mw_part_add_sample_sums(&sql, "v");
	mw_sql_add(&sql,
		   " FROM samples WHERE %s AND attempt GLOBAL IN (SELECT min(attempt) FROM "
		   "profiles WHERE %s GROUP BY kind, number) GROUP BY service, kind, stack",
		   range, range);
	if (mw_clickhouse_do(self, &sql, error) != 0)
		return -1;
	mw_row_bytes_t row = {0};
	mw_row_write_u16(&row, (uint16_t)day);
	mw_row_write_u32(&row, hour->hour);
	mw_row_write_u64(&row, run);
	mw_row_write_u64(&row, hour->profiles);
	int result =
		mw_clickhouse_insert(self, "hours_made", "(day, hour, run, profiles)", &row, error);
	mw_row_bytes_free(&row);
	return result;
}

int mw_clickhouse_add_hours(const char *url, const mw_store_options_t *options, int64_t from_ns,
			    int64_t until_ns, uint64_t *made, mw_error_t *error) {
	mw_clickhouse_t self;
	const mw_range_t range = {.from_ns = from_ns, .until_ns = until_ns};
	hour_t *hours = NULL;
	size_t count = 0;
	*made = 0;
	if (mw_clickhouse_parse(url, options, &self, error) != 0)
		return -1;
	if (self.timeout_seconds < JOB_SECONDS)
		self.timeout_seconds = JOB_SECONDS;
	int result = mw_clickhouse_ready(&self, error);
	if (result == 0)
		result = read_hours(&self, &range, &hours, &count, error);
	for (size_t i = 0; i < count && result == 0; i++)
		if (hours[i].run == 0) {
			result = add_up(&self, &hours[i], error);
			*made += result == 0;
		}
	free(hours);
	mw_clickhouse_release(&self);
	return result;
}
