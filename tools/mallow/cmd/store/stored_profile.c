/* SPDX-License-Identifier: MIT
 * stored_profile.c -- makes one profile of those that a store has. */
#include "cmd/store/stored_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "model/memory.h"

/* Divides, rounding to the nearest. */
static int64_t divided(int64_t value, uint64_t by) {
	return by == 0 ? value : (int64_t)((double)value / (double)by + (value < 0 ? -0.5 : 0.5));
}

/* Averages of the moment are means over the profiles, not over the rows that have a stack. */
static void average(const mw_question_t *q, const mw_counted_t *counted, mw_batch_t *batch,
		    int64_t other[MW_VALUES]) {
	uint64_t by[MW_VALUES];
	for (int k = 0; k < MW_VALUES; k++) {
		bool is_now = k == MW_VALUE_NOW_COUNT || k == MW_VALUE_NOW_AMOUNT;
		by[k] = q->per_process ? counted->instances : 0;
		if (q->sum == MW_SUM_ALL && is_now)
			by[k] = counted->profiles;
	}
	for (size_t i = 0; i < batch->sample_count; i++)
		for (int k = 0; k < MW_VALUES; k++)
			batch->samples[i].values[k] = divided(batch->samples[i].values[k], by[k]);
	for (int k = 0; k < MW_VALUES; k++)
		other[k] = divided(other[k], by[k]);
}

/* Says what is there instead. */
static int say_nothing(mw_store_t *store, const mw_question_t *q, mw_error_t *error) {
	void *self;
	const mw_backend_t *backend = mw_store_backend(store, &self);
	mw_service_row_t *services;
	size_t count;
	char time[MW_SHOW_BYTES], from[MW_SHOW_BYTES], until[MW_SHOW_BYTES];
	mw_range_t whenever = q->range;
	const char *name = q->range.service != NULL ? q->range.service : "any service";
	whenever.from_ns = 0;
	whenever.until_ns = INT64_MAX;
	if (backend->services(self, &whenever, &services, &count, error) != 0)
		return -1;
	int64_t newest_ns = 0;
	for (size_t i = 0; i < count; i++) {
		if (services[i].newest_ns > newest_ns)
			newest_ns = services[i].newest_ns;
		free(services[i].service);
	}
	free(services);
	if (newest_ns == 0)
		return mw_error_set(error,
				    "%s: no %s profile of %s%s; 'mallow services' lists what there "
				    "is",
				    q->store, mw_kind_values(q->range.kind)->name, name,
				    q->range.where_count > 0 ? " with these labels" : "");
	mw_show_time((uint64_t)newest_ns, time);
	mw_show_time((uint64_t)q->range.from_ns, from);
	mw_show_time((uint64_t)q->range.until_ns, until);
	return mw_error_set(error,
			    "%s: no profile of %s from %s to %s; the last is of %s; ask with "
			    "at=TIME, or a longer time with within=TIME or from=TIME",
			    q->store, name, q->range.from_ns > 0 ? from : "the beginning", until,
			    time);
}

static void describe(mw_profile_t *p, const mw_question_t *q, const mw_counted_t *counted) {
	char text[256];
	bool is_range = q->sum == MW_SUM_ALL;
	const char *name = q->range.service != NULL ? q->range.service : "all services";
	p->origin.program = mw_profile_intern(p, name);
	p->origin.format = mw_profile_intern(p, "store");
	p->origin.source = mw_profile_intern(p, q->store);
	p->time_ns = q->range.until_ns - 1;
	if (is_range)
		p->duration_ns = q->range.until_ns - q->range.from_ns;
	snprintf(text, sizeof(text), "%llu profiles of %llu processes of %.100s: %s",
		 (unsigned long long)counted->profiles, (unsigned long long)counted->instances,
		 name,
		 is_range         ? "memory in use is the mean of one process"
		 : q->per_process ? "mean of one process"
				  : "sum");
	mw_profile_add_comment(p, text);
}

static int load(mw_store_t *store, const mw_question_t *q, mw_profile_t **out, mw_error_t *error) {
	void *self;
	const mw_backend_t *backend = mw_store_backend(store, &self);
	mw_batch_t *batch = mw_batch_new();
	mw_counted_t counted;
	int64_t other[MW_VALUES] = {0};
	int standard = mw_kind_values(q->range.kind)->standard;
	int result = backend->samples(self, &q->range, q->sum, standard, MW_STORED_STACKS_MAX,
				      batch, other, &counted, error);
	if (result == 0 && counted.profiles == 0)
		result = say_nothing(store, q, error);
	if (result == 0)
		result = backend->stacks(self, batch, error);
	if (result == 0) {
		average(q, &counted, batch, other);
		*out = mw_profile_of_batch(batch, q->range.kind, other);
		describe(*out, q, &counted);
	}
	mw_batch_free(batch);
	return result;
}

int mw_stored_profile(const char *text, mw_kind_t standard, mw_profile_t **out, mw_error_t *error) {
	/* One for the whole run: profiles that are compared are of one moment. */
	static int64_t now_ns;
	mw_question_t question;
	mw_store_t *store;
	if (now_ns == 0)
		now_ns = (int64_t)mw_now_ns();
	if (mw_question_parse(text, standard, now_ns, &question, error) != 0)
		return -1;
	int result = mw_question_open(&question, false, &store, error);
	if (result == 0) {
		result = load(store, &question, out, error);
		mw_store_close(store);
	}
	mw_question_free(&question);
	return result;
}

int64_t mw_point_value(const mw_point_t *point, int value) {
	if (value != MW_VALUE_NOW_COUNT && value != MW_VALUE_NOW_AMOUNT)
		return point->totals[value];
	return (int64_t)((double)point->totals[value] / (double)point->profiles *
			 (double)point->instances);
}

/* Steps become longer until there are at most as many as a picture shows. */
static int load_timeline(mw_store_t *store, const mw_question_t *q, mw_point_t **points,
			 size_t *count, mw_error_t *error) {
	enum { POINTS_MAX = 400 };
	static const int64_t steps_s[] = {900, 3600, 6 * 3600, 86400};
	enum { STEPS = sizeof(steps_s) / sizeof(steps_s[0]) };
	void *self;
	const mw_backend_t *backend = mw_store_backend(store, &self);
	for (size_t i = 0;; i++) {
		int result = backend->timeline(self, &q->range, steps_s[i] * 1000000000, points,
					       count, error);
		if (result != 0 || *count <= POINTS_MAX || i + 1 == STEPS)
			return result;
		free(*points);
	}
}

int mw_stored_timeline(const char *text, mw_point_t **points, size_t *count, mw_kind_t *kind,
		       mw_error_t *error) {
	mw_question_t q;
	mw_store_t *store;
	if (mw_question_parse(text, MW_KIND_HEAP, (int64_t)mw_now_ns(), &q, error) != 0)
		return -1;
	/* A moment has no timeline: the time up to it is shown. */
	if (q.sum == MW_SUM_NEWEST)
		q.range.from_ns = 0;
	*kind = q.range.kind;
	int result = mw_question_open(&q, false, &store, error);
	if (result == 0) {
		result = load_timeline(store, &q, points, count, error);
		if (result == 0 && *count == 0) {
			free(*points);
			result = say_nothing(store, &q, error);
		}
		mw_store_close(store);
	}
	mw_question_free(&q);
	return result;
}
