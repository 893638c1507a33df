/* SPDX-License-Identifier: MIT
 * store_command.c -- `mallow store`: makes stores, adds hours up, drops days. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cmd/store/question.h"
#include "cmd/store/store_commands.h"
#include "model/memory.h"
#include "store/clickhouse/clickhouse.h"

#define SECOND_NS INT64_C(1000000000)
#define HOUR_NS (3600 * SECOND_NS)
#define DAY_NS (24 * HOUR_NS)
/* Profiles that come later than this are rare; --older makes the job look further back. */
#define HOURS_NS (26 * HOUR_NS)

#define DEFAULT_STORE_MISSING                                                                      \
	"store: STORE is missing; name it, or set MALLOW_STORE: dir:///PATH or "                   \
	"clickhouse://[USER@]HOST:PORT/DATABASE"

typedef struct request {
	const mw_arguments_t *arguments;
	mw_store_options_t options;
	const char **stores; /* those of the operands, or the default one */
	size_t store_count;
	const char **others; /* operands that are no stores */
	size_t other_count;
	bool is_quiet;
	mw_error_t *error;
} request_t;

static bool is_clickhouse(const char *store) {
	return strncmp(store, MW_STORE_CLICKHOUSE, strlen(MW_STORE_CLICKHOUSE)) == 0 ||
	       strncmp(store, MW_STORE_CLICKHOUSE_TLS, strlen(MW_STORE_CLICKHOUSE_TLS)) == 0;
}

static int refuse_others(const request_t *r) {
	if (r->other_count == 0)
		return 0;
	return mw_error_set(r->error,
			    "%s: no store; allowed: dir:///PATH, "
			    "clickhouse://[USER@]HOST:PORT/DATABASE",
			    r->others[0]);
}

static int init_one(const request_t *r, const char *store) {
	const mw_option_values_t *values = &r->arguments->options;
	const mw_clickhouse_layout_t layout = {.cluster = values->cluster.text,
					       .is_replicated = values->replicated.given};
	mw_store_t *opened;
	if (is_clickhouse(store))
		return mw_clickhouse_init(store, &r->options, &layout, r->error);
	if (values->cluster.given || values->replicated.given)
		return mw_error_set(r->error, "%s: --cluster and --replicated are for ClickHouse",
				    store);
	if (mw_store_open(store, &r->options, true, &opened, r->error) != 0)
		return -1;
	mw_store_close(opened);
	return 0;
}

static int init(request_t *r) {
	if (refuse_others(r) != 0)
		return -1;
	for (size_t i = 0; i < r->store_count; i++) {
		if (init_one(r, r->stores[i]) != 0)
			return -1;
		printf("%s is ready\n", r->stores[i]);
	}
	return 0;
}

static int add_hours(request_t *r) {
	const mw_option_values_t *values = &r->arguments->options;
	int64_t now_ns = (int64_t)mw_now_ns();
	int64_t since_ns = values->older.given ? (int64_t)(values->older.seconds * 1e9) : HOURS_NS;
	uint64_t made;
	if (refuse_others(r) != 0)
		return -1;
	if (!is_clickhouse(r->stores[0]))
		return mw_error_set(r->error,
				    "%s: a directory needs no hours; 'mallow store hours' is for "
				    "ClickHouse",
				    r->stores[0]);
	if (mw_clickhouse_add_hours(r->stores[0], &r->options,
				    since_ns < now_ns ? now_ns - since_ns : 0,
				    now_ns / HOUR_NS * HOUR_NS, &made, r->error) != 0)
		return -1;
	printf("%" PRIu64 " hours were added up\n", made);
	return 0;
}

static int drop_one(const request_t *r, mw_store_t *store, int64_t day) {
	struct tm date;
	time_t second = (time_t)(day * (DAY_NS / SECOND_NS));
	char text[16];
	if (mw_store_drop_day(store, day, r->error) != 0)
		return -1;
	if (r->is_quiet)
		return 0;
	gmtime_r(&second, &date);
	strftime(text, sizeof(text), "%Y-%m-%d", &date);
	printf("%s was dropped\n", text);
	return 0;
}

/* Parses "2026-11-30", a day of UTC. */
static int parse_day(const char *text, int64_t *day, mw_error_t *error) {
	struct tm date = {.tm_isdst = 0};
	const char *end = strptime(text, "%Y-%m-%d", &date);
	if (end == NULL || *end != '\0' || strlen(text) != strlen("2026-11-30"))
		return mw_error_set(error, "%s: no day; allowed: a date such as 2026-11-30", text);
	int day_of_month = date.tm_mday;
	*day = timegm(&date) / (DAY_NS / SECOND_NS);
	/* timegm() takes the 31st of February for the 3rd of March. */
	if (date.tm_mday != day_of_month)
		return mw_error_set(error, "%s: there is no such day", text);
	return 0;
}

/* Drops the days that have profiles and ended before the time that --older names. */
static int drop_older(const request_t *r, mw_store_t *store) {
	void *self;
	const mw_backend_t *backend = mw_store_backend(store, &self);
	int64_t now_ns = (int64_t)mw_now_ns();
	int64_t age_ns = (int64_t)(r->arguments->options.older.seconds * 1e9);
	mw_range_t range = {.until_ns = age_ns < now_ns ? (now_ns - age_ns) / DAY_NS * DAY_NS : 0};
	int result = 0;
	for (const mw_kind_values_t *kind = mw_kinds; kind->name != NULL && result == 0; kind++) {
		mw_point_t *points = NULL;
		size_t count = 0;
		range.kind = kind->kind;
		result = backend->timeline(self, &range, DAY_NS, &points, &count, r->error);
		/* A day is dropped with all its kinds: no later kind names it again. */
		for (size_t i = 0; i < count && result == 0; i++)
			result = drop_one(r, store, points[i].time_ns / DAY_NS);
		free(points);
	}
	return result;
}

static int drop_from(const request_t *r, mw_store_t *store) {
	int result = 0;
	if (r->arguments->options.older.given)
		result = drop_older(r, store);
	for (size_t i = 0; i < r->other_count && result == 0; i++) {
		int64_t day;
		result = parse_day(r->others[i], &day, r->error);
		if (result == 0)
			result = drop_one(r, store, day);
	}
	return result;
}

/* Drops in each store, as far as the first that fails if `must` is set. */
static int drop_everywhere(const request_t *r, bool must) {
	for (size_t i = 0; i < r->store_count; i++) {
		mw_store_t *store;
		int result = mw_store_open(r->stores[i], &r->options, false, &store, r->error);
		if (result == 0) {
			result = drop_from(r, store);
			mw_store_close(store);
		}
		if (result != 0 && must)
			return -1;
	}
	return 0;
}

static int drop(request_t *r) {
	int64_t day;
	if (r->other_count == 0 && !r->arguments->options.older.given)
		return mw_error_set(r->error, "store drop: DAY is missing, such as 2026-11-30, or "
					      "--older TIME, such as --older 30d");
	for (size_t i = 0; i < r->other_count; i++)
		if (parse_day(r->others[i], &day, r->error) != 0)
			return -1;
	/* A server of a cluster fails while another one has profiles of the day: all are asked once
	 * more when each has dropped its own. */
	if (r->store_count > 1)
		drop_everywhere(r, false);
	r->is_quiet = r->store_count > 1;
	return drop_everywhere(r, true);
}

/* Sorts the operands behind the first into stores and others. */
static int take_operands(const char *const *operands, size_t count, request_t *r) {
	const char *standard = getenv(MW_STORE_VARIABLE);
	for (size_t i = 0; i < count; i++) {
		if (mw_question_refuse_password(operands[i], r->error) != 0)
			return -1;
		if (mw_store_is_url(operands[i]))
			r->stores[r->store_count++] = operands[i];
		else
			r->others[r->other_count++] = operands[i];
	}
	if (r->store_count == 0 && standard != NULL && mw_store_is_url(standard))
		r->stores[r->store_count++] = standard;
	return r->store_count > 0 ? 0 : mw_error_set(r->error, DEFAULT_STORE_MISSING);
}

int mw_cmd_store(const mw_arguments_t *arguments) {
	static const struct {
		const char *name;
		int (*run)(request_t *r);
	} actions[] = {{"init", init}, {"hours", add_hours}, {"drop", drop}};
	size_t count = arguments->operand_count - 1, action = 0;
	mw_error_t error;
	while (action < 3 && strcmp(actions[action].name, arguments->operands[0]) != 0)
		action++;
	if (action == 3) {
		mw_complain("store %s: no such action; allowed: init, hours, drop",
			    arguments->operands[0]);
		return MW_EXIT_TROUBLE;
	}
	request_t r = {
		.arguments = arguments,
		.options = {.password = getenv(MW_STORE_PASSWORD_VARIABLE), .timeout_seconds = 60},
		.stores = mw_xcalloc(count + 1, sizeof(*r.stores)),
		.others = mw_xcalloc(count + 1, sizeof(*r.others)),
		.error = &error,
	};
	int result = take_operands((const char *const *)arguments->operands + 1, count, &r);
	if (result == 0)
		result = actions[action].run(&r);
	if (result != 0)
		mw_complain("%s", error.text);
	free(r.stores);
	free(r.others);
	return result == 0 ? MW_EXIT_FINE : MW_EXIT_TROUBLE;
}
