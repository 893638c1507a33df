/* SPDX-License-Identifier: MIT
 * query_parts.c -- parts of queries: which profiles and samples a question is about. */
#include <inttypes.h>
#include <string.h>

#include "store/clickhouse/parts.h"

static const char *const columns[MW_VALUES] = {"now_count", "now_amount", "since_count",
					       "since_amount"};

int64_t mw_part_first_ns(const mw_range_t *range) {
	return range->from_ns > 0 ? range->from_ns : 0;
}

int64_t mw_part_last_ns(const mw_range_t *range) {
	const int64_t most = UINT32_MAX * MW_SECOND_NS;
	if (range->until_ns <= 0)
		return 0;
	return range->until_ns - 1 < most ? range->until_ns - 1 : most;
}

void mw_part_days(const mw_range_t *range, int64_t *first, int64_t *last) {
	*first = mw_part_first_ns(range) / MW_SECOND_NS / MW_DAY_SECONDS;
	*last = mw_part_last_ns(range) / MW_SECOND_NS / MW_DAY_SECONDS;
}

void mw_part_add_days(mw_sql_t *sql, const mw_range_t *range) {
	int64_t first, last;
	mw_part_days(range, &first, &last);
	mw_sql_add(sql, "day >= toDate(%" PRId64 ") AND day <= toDate(%" PRId64 ")", first, last);
}

/* Adds the conditions that samples and profiles share. */
static void add_common(mw_sql_t *sql, const mw_range_t *range) {
	mw_part_add_days(sql, range);
	mw_sql_add(sql, " AND ts >= toDateTime(%" PRId64 ") AND ts <= toDateTime(%" PRId64 ")",
		   mw_part_first_ns(range) / MW_SECOND_NS, mw_part_last_ns(range) / MW_SECOND_NS);
	mw_sql_add(sql, " AND kind = %d", range->kind);
	if (range->service != NULL) {
		mw_sql_add(sql, " AND service = ");
		mw_sql_add_literal(sql, range->service, strlen(range->service));
	}
}

/* Adds the value of a key.  A profile without the label has "". */
static void add_key(mw_sql_t *sql, const char *key) {
	static const char *const own[] = {"instance", "host", "version", "build_id"};
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(key, own[i]) == 0) {
			mw_sql_add(sql, "%s", own[i]);
			return;
		}
	mw_sql_add(sql, "tag_values[indexOf(tag_keys, ");
	mw_sql_add_literal(sql, key, strlen(key));
	mw_sql_add(sql, ")]");
}

void mw_part_add_where(mw_sql_t *sql, const mw_range_t *range) {
	add_common(sql, range);
	mw_sql_add(sql, " AND time >= %" PRId64 " AND time < %" PRId64, mw_part_first_ns(range),
		   range->until_ns > 0 ? range->until_ns : 0);
	for (size_t i = 0; i < range->where_count; i++) {
		mw_sql_add(sql, " AND ");
		add_key(sql, range->where[i].key);
		mw_sql_add(sql, " = ");
		mw_sql_add_literal(sql, range->where[i].value, strlen(range->where[i].value));
	}
}

/* Adds the end of a query for the newest profile of each process.  Of several attempts that were
 * committed under one number the least is taken. */
static void add_newest(mw_sql_t *sql, const mw_range_t *range) {
	mw_sql_add(sql, " FROM profiles WHERE ");
	mw_part_add_where(sql, range);
	mw_sql_add(sql, " ORDER BY time DESC, number DESC, attempt LIMIT 1 BY service, instance");
}

void mw_part_add_group(mw_sql_t *sql, const mw_range_t *range) {
	if (range->by != NULL)
		add_key(sql, range->by);
	else
		mw_sql_add(sql, "service");
}

void mw_part_add_profiles(mw_sql_t *sql, const mw_range_t *range, mw_sum_t sum) {
	if (sum == MW_SUM_NEWEST) {
		mw_sql_add(sql, "SELECT ");
		mw_part_add_group(sql, range);
		mw_sql_add(sql, " AS g, attempt AS a, service AS s, instance AS i, host AS h, "
				"version AS r, time AS t, now_count AS v0, now_amount AS v1, "
				"since_count AS v2, since_amount AS v3");
		add_newest(sql, range);
		return;
	}
	mw_sql_add(sql, "SELECT min(attempt) AS a, any(service) AS s, any(instance) AS i, "
			"any(time) AS t, any(now_count) AS v0, any(now_amount) AS v1, "
			"any(since_count) AS v2, any(since_amount) AS v3 FROM profiles WHERE ");
	mw_part_add_where(sql, range);
	mw_sql_add(sql, " GROUP BY number");
}

/* Adds the sum of a column, or the nearest number of Int64.  sum() alone wraps around, and then
 * differs by 2^64 or more from the sum of floating-point numbers. */
static void add_sum(mw_sql_t *sql, const char *column) {
	mw_sql_add(sql,
		   "if(abs(sum(toFloat64(%s)) - sum(%s)) < 1e19, sum(%s), if(sum(toFloat64(%s)) > "
		   "0, toInt64(9223372036854775807), toInt64(-9223372036854775807) - 1))",
		   column, column, column, column);
}

void mw_part_add_sums(mw_sql_t *sql, const char *prefix) {
	for (int i = 0; i < MW_VALUES; i++) {
		char column[16] = {prefix[0], (char)('0' + i)};
		if (i > 0)
			mw_sql_add(sql, ", ");
		add_sum(sql, column);
	}
}

void mw_part_add_sample_sums(mw_sql_t *sql, const char *prefix) {
	for (int i = 0; i < MW_VALUES; i++) {
		if (i > 0)
			mw_sql_add(sql, ", ");
		add_sum(sql, columns[i]);
		mw_sql_add(sql, " AS %s%d", prefix, i);
	}
}

static void add_raw_samples(mw_sql_t *sql, const mw_range_t *range, mw_sum_t sum) {
	mw_sql_add(sql, "samples WHERE ");
	add_common(sql, range);
	mw_sql_add(sql, " AND attempt GLOBAL IN (");
	if (sum == MW_SUM_NEWEST) {
		mw_sql_add(sql, "SELECT attempt");
		add_newest(sql, range);
	} else {
		mw_sql_add(sql, "SELECT min(attempt) FROM profiles WHERE ");
		mw_part_add_where(sql, range);
		mw_sql_add(sql, " GROUP BY number");
	}
	mw_sql_add(sql, ")");
}

static void add_columns(mw_sql_t *sql) {
	mw_sql_add(sql, "SELECT stack, now_count, now_amount, since_count, since_amount FROM ");
}

void mw_part_add_samples(mw_sql_t *sql, const mw_range_t *range, mw_sum_t sum,
			 const mw_hours_t *hours) {
	if (hours->run_count == 0) {
		add_raw_samples(sql, range, sum);
		return;
	}
	mw_sql_add(sql, "(");
	add_columns(sql);
	mw_sql_add(sql, "hours WHERE ");
	mw_part_add_days(sql, range);
	mw_sql_add(sql, " AND kind = %d AND ", range->kind);
	if (range->service != NULL) {
		mw_sql_add(sql, "service = ");
		mw_sql_add_literal(sql, range->service, strlen(range->service));
		mw_sql_add(sql, " AND ");
	}
	mw_sql_add(sql, "run IN (");
	mw_sql_add_ids(sql, hours->runs, hours->run_count);
	mw_sql_add(sql, ")");
	if (hours->rest_count > 0) {
		mw_sql_add(sql, " UNION ALL ");
		add_columns(sql);
		add_raw_samples(sql, range, sum);
		mw_sql_add(sql, " AND (");
	}
	for (size_t i = 0; i < hours->rest_count; i++)
		mw_sql_add(sql,
			   "%s(ts >= toDateTime(%" PRId64 ") AND ts <= toDateTime(%" PRId64 "))",
			   i > 0 ? " OR " : "", hours->rest[i].first, hours->rest[i].last);
	mw_sql_add(sql, hours->rest_count > 0 ? "))" : ")");
}
