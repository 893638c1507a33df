/* SPDX-License-Identifier: MIT
 * schema.c -- the tables, for one server or for a cluster.
 * Whoever writes gives the rows of one attempt a random number, "attempt" or "run", and adds a row
 * with this number to profiles, hours_made or builds at last.  Queries look at rows of such numbers
 * only.  Days and hours are of UTC; no function is used that depends on the server's time zone. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/memory.h"
#include "store/clickhouse/clickhouse.h"
#include "store/clickhouse/parts.h"

/* The version of the tables. */
#define FORMAT 1

/* Names of a location, the innermost inlined function first. */
#define LINES                                                                                      \
	"functions Array(String), system_names Array(String), files Array(String), "               \
	"lines Array(Int64), start_lines Array(Int64)"
#define VALUES "now_count Int64, now_amount Int64, since_count Int64, since_amount Int64"

typedef struct table {
	const char *name;
	const char *columns;
	const char *engine;    /* without "Replicated" */
	const char *arguments; /* of the engine, behind those of replication */
	const char *order;     /* PARTITION BY, ORDER BY and SETTINGS */
	const char *shard;     /* rows with one value of this are on one server */
} table_t;

static const table_t tables[] = {
	{"profiles",
	 "day Date, ts DateTime, time Int64, number UInt64, attempt UInt64, service String, "
	 "kind UInt8, instance String, host String, version String, build_id String, "
	 "tag_keys Array(String), tag_values Array(String), duration Int64, period Int64, "
	 "samples UInt32, " VALUES,
	 "MergeTree", "", "PARTITION BY day ORDER BY (service, kind, ts, instance)", "attempt"},
	{"samples",
	 "day Date, ts DateTime, service String, kind UInt8, attempt UInt64, stack UInt64, " VALUES,
	 "MergeTree", "", "PARTITION BY day ORDER BY (service, kind, ts, stack)", "attempt"},
	/* A question is for some thousand rows all over the table: small granules. */
	{"stacks", "day Date, stack UInt64, locations Array(UInt64)", "ReplacingMergeTree", "",
	 "PARTITION BY day ORDER BY stack SETTINGS index_granularity = 64", "stack"},
	{"locations",
	 "day Date, location UInt64, named UInt8, build_id String, path String, offset UInt64, "
	 "flags UInt32, " LINES,
	 "ReplacingMergeTree", "named",
	 "PARTITION BY day ORDER BY location SETTINGS index_granularity = 64", "location"},
	{"hours",
	 "day Date, hour UInt32, run UInt64, service String, kind UInt8, stack UInt64, " VALUES,
	 "MergeTree", "", "PARTITION BY day ORDER BY (service, kind, hour, stack)", "stack"},
	{"hours_made", "day Date, hour UInt32, run UInt64, profiles UInt64", "MergeTree", "",
	 "PARTITION BY day ORDER BY hour", "run"},
	{"symbols",
	 "build_id String, attempt UInt64, block UInt64, first UInt64, last UInt64, " LINES,
	 "MergeTree", "",
	 "ORDER BY (build_id, attempt, block, first) SETTINGS index_granularity = 256", "attempt"},
	{"builds", "build_id String, attempt UInt64, pushed UInt64", "MergeTree", "",
	 "ORDER BY build_id", "attempt"},
	/* Of this server alone; made at last. */
	{"store_format", "format UInt32", "MergeTree", "", "ORDER BY format", NULL},
};

enum { TABLE_COUNT = sizeof(tables) / sizeof(tables[0]) };

/* All tables that have a column "day", the one with the commits first. */
static const char *const day_tables[] = {"profiles", "hours_made", "samples", "hours",
					 "stacks",   "locations",  NULL};

/* Adds the engine of a table that holds rows. */
static void add_engine(mw_sql_t *sql, const mw_clickhouse_t *self, const table_t *t,
		       bool is_replicated) {
	mw_sql_add(sql, "ENGINE = %s%s(", is_replicated ? "Replicated" : "", t->engine);
	if (is_replicated)
		mw_sql_add(sql, "'/clickhouse/tables/{shard}/%s/%s', '{replica}'%s", self->database,
			   t->name, t->arguments[0] != '\0' ? ", " : "");
	mw_sql_add(sql, "%s) %s", t->arguments, t->order);
}

static int create_table(mw_clickhouse_t *self, const table_t *t,
			const mw_clickhouse_layout_t *layout, mw_error_t *error) {
	mw_sql_t sql = {0};
	bool is_shared = layout->cluster != NULL && t->shard != NULL;
	mw_sql_add(&sql, "CREATE TABLE IF NOT EXISTS %s%s (%s) ", t->name,
		   is_shared ? MW_CLICKHOUSE_LOCAL : "", t->columns);
	add_engine(&sql, self, t, layout->is_replicated && t->shard != NULL);
	if (mw_clickhouse_do(self, &sql, error) != 0)
		return -1;
	if (!is_shared)
		return 0;
	mw_sql_add(&sql, "CREATE TABLE IF NOT EXISTS %s (%s) ENGINE = Distributed(", t->name,
		   t->columns);
	mw_sql_add_literal(&sql, layout->cluster, strlen(layout->cluster));
	mw_sql_add(&sql, ", '%s', '%s%s', %s)", self->database, t->name, MW_CLICKHOUSE_LOCAL,
		   t->shard);
	return mw_clickhouse_do(self, &sql, error);
}

/* Returns the version of the tables in *format; 0 = there are none. */
static int read_format(mw_clickhouse_t *self, uint32_t *format, mw_error_t *error) {
	mw_sql_t sql = {0};
	mw_answer_t answer;
	*format = 0;
	mw_sql_add(&sql, "SELECT max(format) FROM store_format FORMAT RowBinary");
	int result = mw_clickhouse_query(self, &sql, &answer, error);
	if (result != 0 &&
	    (answer.code == MW_CLICKHOUSE_NO_TABLE || answer.code == MW_CLICKHOUSE_NO_DATABASE))
		result = 0;
	else if (result == 0) {
		mw_row_input_t in = mw_row_input_of(answer.body, answer.length);
		*format = mw_row_read_u32(&in);
		if (in.is_broken)
			result = mw_clickhouse_bad_answer(self, error);
		mw_row_input_free(&in);
	}
	free(answer.body);
	return result;
}

static int create_all(mw_clickhouse_t *self, const mw_clickhouse_layout_t *layout,
		      mw_error_t *error) {
	int result = mw_clickhouse_create_database(self, error);
	for (size_t i = 0; i < TABLE_COUNT && result == 0; i++)
		result = create_table(self, &tables[i], layout, error);
	if (result != 0)
		return -1;
	mw_row_bytes_t row = {0};
	mw_row_write_u32(&row, FORMAT);
	result = mw_clickhouse_insert(self, "store_format", "(format)", &row, error);
	mw_row_bytes_free(&row);
	return result;
}

static int check_format(const mw_clickhouse_t *self, uint32_t format, mw_error_t *error) {
	if (format == FORMAT)
		return 0;
	return mw_error_set(error,
			    "%s: database %s has tables of version %" PRIu32 ", not %d; use the "
			    "version of mallow that has made them, or another database",
			    self->address, self->database, format, FORMAT);
}

int mw_clickhouse_ready(mw_clickhouse_t *self, mw_error_t *error) {
	static const mw_clickhouse_layout_t plain;
	uint32_t format;
	if (self->is_ready)
		return 0;
	if (read_format(self, &format, error) != 0)
		return -1;
	if (format == 0 && !self->may_create)
		return mw_error_set(error,
				    "%s: there is no store in database %s; push a profile, or run: "
				    "mallow store init URL",
				    self->address, self->database);
	if (format == 0 ? create_all(self, &plain, error) != 0
			: check_format(self, format, error) != 0)
		return -1;
	self->is_ready = true;
	return 0;
}

int mw_clickhouse_init(const char *url, const mw_store_options_t *options,
		       const mw_clickhouse_layout_t *layout, mw_error_t *error) {
	mw_clickhouse_t self;
	uint32_t format = 0;
	if (layout->is_replicated && layout->cluster == NULL)
		return mw_error_set(error, "--replicated: needs --cluster NAME");
	if (mw_clickhouse_parse(url, options, &self, error) != 0)
		return -1;
	int result = read_format(&self, &format, error);
	if (result == 0)
		result = format == 0 ? create_all(&self, layout, error)
				     : check_format(&self, format, error);
	mw_clickhouse_release(&self);
	return result;
}

static int open_store(const char *url, const mw_store_options_t *options, bool may_create,
		      void **self, mw_error_t *error) {
	mw_clickhouse_t opened;
	if (mw_clickhouse_parse(url, options, &opened, error) != 0)
		return -1;
	opened.may_create = may_create;
	*self = mw_xcalloc(1, sizeof(opened));
	memcpy(*self, &opened, sizeof(opened));
	return 0;
}

static void close_store(void *self) {
	mw_clickhouse_release(self);
	free(self);
}

/* Returns whether the tables are parts of a cluster's. */
static int is_of_cluster(mw_clickhouse_t *self, bool *out, mw_error_t *error) {
	mw_sql_t sql = {0};
	mw_answer_t answer;
	mw_sql_add(&sql, "EXISTS TABLE profiles" MW_CLICKHOUSE_LOCAL " FORMAT TabSeparated");
	int result = mw_clickhouse_query(self, &sql, &answer, error);
	if (result == 0 && strcmp(answer.body, "0\n") != 0 && strcmp(answer.body, "1\n") != 0)
		result = mw_clickhouse_bad_answer(self, error);
	*out = result == 0 && answer.body[0] == '1';
	free(answer.body);
	return result;
}

/* Other servers of the cluster have their own part of the day. */
static int check_others(mw_clickhouse_t *self, int64_t day, mw_error_t *error) {
	mw_sql_t sql = {0};
	mw_answer_t answer;
	mw_sql_add(&sql,
		   "SELECT count() FROM profiles WHERE day = toDate(%" PRId64 ") FORMAT RowBinary",
		   day);
	int result = mw_clickhouse_query(self, &sql, &answer, error);
	mw_row_input_t in = mw_row_input_of(answer.body, answer.length);
	uint64_t left = result == 0 ? mw_row_read_u64(&in) : 0;
	if (result == 0 && in.is_broken)
		result = mw_clickhouse_bad_answer(self, error);
	if (left > 0)
		result = mw_error_set(error,
				      "%s: the day was dropped on this server; other servers of "
				      "the cluster have %" PRIu64 " profiles of it: drop it there, "
				      "too",
				      self->address, left);
	free(answer.body);
	return result;
}

static int drop_day(void *context, int64_t day, mw_error_t *error) {
	mw_clickhouse_t *self = context;
	bool is_cluster;
	if (day < 0 || day > UINT16_MAX)
		return 0;
	if (mw_clickhouse_ready(self, error) != 0 || is_of_cluster(self, &is_cluster, error) != 0)
		return -1;
	struct tm date;
	time_t second = (time_t)(day * MW_DAY_SECONDS);
	char text[16];
	gmtime_r(&second, &date);
	strftime(text, sizeof(text), "%Y-%m-%d", &date);
	for (size_t i = 0; day_tables[i] != NULL; i++) {
		mw_sql_t sql = {0};
		mw_sql_add(&sql, "ALTER TABLE %s%s DROP PARTITION '%s'", day_tables[i],
			   is_cluster ? MW_CLICKHOUSE_LOCAL : "", text);
		if (mw_clickhouse_do(self, &sql, error) != 0)
			return -1;
	}
	if (self->known != NULL)
		memset(self->known, 0, MW_KNOWN_SLOTS * sizeof(*self->known));
	self->known_count = 0;
	return is_cluster ? check_others(self, day, error) : 0;
}

const mw_backend_t mw_clickhouse_backend = {
	.open = open_store,
	.close = close_store,
	.put = mw_clickhouse_put,
	.drop_day = drop_day,
	.samples = mw_clickhouse_samples,
	.stacks = mw_clickhouse_stacks,
	.timeline = mw_clickhouse_timeline,
	.services = mw_clickhouse_services,
	.names = mw_clickhouse_names,
	.holders = mw_clickhouse_holders,
	.has_symbols = mw_clickhouse_has_symbols,
	.put_symbols = mw_clickhouse_put_symbols,
};
