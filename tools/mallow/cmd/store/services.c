/* SPDX-License-Identifier: MIT
 * services.c -- `mallow services`: the services of a store, and how they grow. */
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/print.h"
#include "cmd/store/question.h"
#include "cmd/store/store_commands.h"
#include "model/memory.h"
#include "report/text/style.h"
#include "report/text/units.h"

#define HOUR_NS (INT64_C(3600) * 1000000000)
#define DAY_NS (24 * HOUR_NS)
/* Growth of less time than this says nothing about a day. */
#define LEAST_NS (HOUR_NS / 2)

typedef struct row {
	mw_service_row_t now;
	int64_t live; /* sum of the newest profiles of all processes */
	/* A day of growth at the rate since `then_ns`; valid if growth_known. */
	int64_t growth, then_ns;
	bool growth_known;
} row_t;

typedef struct listing {
	const mw_backend_t *backend;
	void *self;
	mw_range_t range; /* of the time that was asked for */
	int64_t at_ns;
	int value; /* the kind's value that is shown */
	row_t *rows;
	size_t count;
} listing_t;

/* Takes the mean of the first hour's steps as what the service held then: a single profile may have
 * come before or after the other processes'. */
static void take_growth(listing_t *l, row_t *row, const mw_point_t *points, size_t count) {
	double live = 0;
	int64_t time_ns = 0;
	size_t used = 0;
	for (size_t i = 0; i < count && points[i].time_ns < points[0].time_ns + HOUR_NS; i++) {
		live += (double)points[i].totals[l->value] / (double)points[i].profiles *
			(double)points[i].instances;
		time_ns += points[i].time_ns - points[0].time_ns;
		used++;
	}
	if (used == 0)
		return;
	row->then_ns = points[0].time_ns + time_ns / (int64_t)used;
	int64_t elapsed_ns = row->now.newest_ns - row->then_ns;
	row->growth_known = elapsed_ns >= LEAST_NS;
	if (row->growth_known)
		row->growth = (int64_t)(((double)row->live - live / (double)used) * (double)DAY_NS /
					(double)elapsed_ns);
}

static int find_growth(listing_t *l, row_t *row, mw_error_t *error) {
	mw_point_t *points = NULL;
	size_t count = 0;
	mw_range_t range = l->range;
	mw_tag_t *where = mw_xcalloc(range.where_count + 1, sizeof(*where));
	for (size_t i = 0; i < range.where_count; i++)
		where[i] = range.where[i];
	if (range.by == NULL) {
		range.service = row->now.service;
	} else {
		where[range.where_count++] = (mw_tag_t){range.by, row->now.service};
		range.where = where;
	}
	range.from_ns = l->at_ns > DAY_NS ? l->at_ns - DAY_NS : 0;
	int result = l->backend->timeline(l->self, &range, HOUR_NS / 4, &points, &count, error);
	if (result == 0)
		take_growth(l, row, points, count);
	free(points);
	free(where);
	return result;
}

static int compare_live(const void *a, const void *b) {
	const row_t *x = a, *y = b;
	if (x->live != y->live)
		return x->live > y->live ? -1 : 1;
	return strcmp(x->now.service, y->now.service);
}

static int compare_growth(const void *a, const void *b) {
	const row_t *x = a, *y = b;
	if (x->growth != y->growth)
		return x->growth > y->growth ? -1 : 1;
	return compare_live(a, b);
}

/* Values that are added up over time have no growth. */
static bool has_growth(const listing_t *l) {
	return l->value == MW_VALUE_NOW_AMOUNT;
}

static int collect(listing_t *l, mw_error_t *error) {
	mw_service_row_t *services;
	size_t count;
	if (l->backend->services(l->self, &l->range, &services, &count, error) != 0)
		return -1;
	l->rows = mw_xcalloc(count, sizeof(*l->rows));
	int result = 0;
	for (size_t i = 0; i < count; i++) {
		row_t *row = &l->rows[l->count];
		/* A version that no process has any more: all have pushed as another one since. */
		if (services[i].newest_ns == 0) {
			free(services[i].service);
			continue;
		}
		l->count++;
		row->now = services[i];
		row->live = services[i].totals[l->value];
		if (result == 0 && has_growth(l))
			result = find_growth(l, row, error);
	}
	free(services);
	return result;
}

static const char *show_amount(const listing_t *l, int64_t amount, char *buffer, size_t size) {
	return has_growth(l) ? mw_format_bytes(amount, buffer, size)
			     : mw_format_nanoseconds(amount, buffer, size);
}

static const char *show_growth(const row_t *row, char *buffer, size_t size) {
	char amount[MW_SHOW_BYTES];
	if (!row->growth_known)
		snprintf(buffer, size, "-");
	else
		snprintf(buffer, size, "%s%s", row->growth > 0 ? "+" : "",
			 mw_format_bytes(row->growth, amount, sizeof(amount)));
	return buffer;
}

static void print_row(const listing_t *l, const row_t *row, uint64_t now_ns) {
	char live[MW_SHOW_BYTES], growth[MW_SHOW_BYTES], age[MW_SHOW_BYTES], name[512];
	uint64_t newest_ns = (uint64_t)row->now.newest_ns;
	printf("%12s ", show_amount(l, row->live, live, sizeof(live)));
	if (has_growth(l))
		printf("%13s ", show_growth(row, growth, sizeof(growth)));
	printf("%6llu %9llu %8llu %14s  %s\n", (unsigned long long)row->now.hosts,
	       (unsigned long long)row->now.instances, (unsigned long long)row->now.versions,
	       mw_show_duration(now_ns > newest_ns ? now_ns - newest_ns : 0, age),
	       mw_show_text(row->now.service, name, sizeof(name)));
}

static void say_most(const listing_t *l) {
	char growth[MW_SHOW_BYTES], name[512];
	const row_t *most = NULL;
	for (size_t i = 0; i < l->count; i++)
		if (l->rows[i].growth_known && l->rows[i].growth > 0 &&
		    (most == NULL || l->rows[i].growth > most->growth))
			most = &l->rows[i];
	if (most != NULL)
		printf("%s grew most, %s a day\n",
		       mw_show_text(most->now.service, name, sizeof(name)),
		       show_growth(most, growth, sizeof(growth)));
}

static void print_table(const listing_t *l, const mw_arguments_t *arguments) {
	uint64_t now_ns = mw_now_ns();
	mw_pager_begin(arguments);
	printf("%s%12s ", mw_style(MW_STYLE_HEAD), has_growth(l) ? "LIVE" : "TIME");
	if (has_growth(l))
		printf("%13s ", "GROWTH A DAY");
	char by[512];
	printf("%6s %9s %8s %14s  %s%s\n", "HOSTS", "PROCESSES", "VERSIONS", "AGE",
	       l->range.by != NULL ? mw_show_text(l->range.by, by, sizeof(by)) : "SERVICE",
	       mw_style(MW_STYLE_PLAIN));
	for (size_t i = 0; i < l->count; i++)
		print_row(l, &l->rows[i], now_ns);
	if (has_growth(l))
		say_most(l);
	mw_pager_end();
}

static int print_json(const listing_t *l) {
	json_t *list = json_array();
	for (size_t i = 0; i < l->count; i++) {
		const row_t *row = &l->rows[i];
		json_t *value = json_object();
		json_object_set_new(value, "name", mw_json_text(row->now.service));
		json_object_set_new(value, has_growth(l) ? "live_bytes" : "time_ns",
				    json_integer(row->live));
		if (has_growth(l))
			json_object_set_new(value, "growth_bytes_a_day",
					    row->growth_known ? json_integer(row->growth)
							      : json_null());
		json_object_set_new(value, "hosts", json_integer((json_int_t)row->now.hosts));
		json_object_set_new(value, "processes",
				    json_integer((json_int_t)row->now.instances));
		json_object_set_new(value, "versions", json_integer((json_int_t)row->now.versions));
		json_object_set_new(value, "profiles", json_integer((json_int_t)row->now.profiles));
		json_object_set_new(value, "newest_ns", json_integer(row->now.newest_ns));
		json_array_append_new(list, value);
	}
	return mw_print_json(list);
}

static int show(listing_t *l, const mw_question_t *q, const mw_arguments_t *arguments) {
	mw_error_t error;
	if (collect(l, &error) != 0) {
		mw_complain("%s", error.text);
		return MW_EXIT_TROUBLE;
	}
	const char *order = arguments->options.sort.text;
	bool by_growth = order != NULL && strcmp(order, "growth") == 0;
	if (l->count > 1)
		qsort(l->rows, l->count, sizeof(*l->rows),
		      by_growth ? compare_growth : compare_live);
	if (arguments->options.json.given)
		return print_json(l);
	if (l->count > 0) {
		print_table(l, arguments);
		return MW_EXIT_FINE;
	}
	mw_complain("%s: no %s profile in that time; ask with at=TIME, within=TIME or from=TIME",
		    q->store, mw_kind_values(q->range.kind)->name);
	return MW_EXIT_TROUBLE;
}

int mw_cmd_services(const mw_arguments_t *arguments) {
	mw_question_t q;
	mw_error_t error;
	mw_store_t *store;
	const char *text = arguments->operand_count > 0 ? arguments->operands[0] : NULL;
	int64_t now_ns = (int64_t)mw_now_ns();
	if (mw_question_parse_store(text, now_ns, &q, &error) != 0) {
		mw_complain("%s", error.text);
		return MW_EXIT_TROUBLE;
	}
	int status = MW_EXIT_TROUBLE;
	if (mw_question_open(&q, false, &store, &error) != 0) {
		mw_complain("%s", error.text);
	} else {
		listing_t l = {.range = q.range,
			       .at_ns = q.range.until_ns,
			       .value = mw_kind_values(q.range.kind)->standard};
		l.backend = mw_store_backend(store, &l.self);
		status = show(&l, &q, arguments);
		for (size_t i = 0; i < l.count; i++)
			free(l.rows[i].now.service);
		free(l.rows);
		mw_store_close(store);
	}
	mw_question_free(&q);
	return status;
}
