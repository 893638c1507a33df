/* SPDX-License-Identifier: MIT
 * query.c -- samples, timelines, services and functions from the index. */
#include "store/directory/index/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libraries/sqlite.h"
#include "model/memory.h"
#include "store/directory/index/encode.h"
#include "store/directory/index/matching.h"

/* Calls `take` for each sample of a profile. */
static void read_samples(mw_database_t *d, int64_t profile, mw_take_sample_t *take, void *context) {
	sqlite3_stmt *s = mw_database_prepare(d, "SELECT rows FROM samples WHERE profile=?1");
	mw_bind_number(s, 1, profile);
	if (!mw_database_step(d, s))
		return;
	mw_decode_samples(mw_sqlite.column_blob(s, 0), (size_t)mw_sqlite.column_bytes(s, 0), take,
			  context);
	mw_sqlite.reset(s);
}

static void take_sample(void *context, uint64_t stack, const int64_t values[MW_VALUES]) {
	mw_batch_add_sample(context, stack, values);
}

/* Counts different texts that come in order. */
typedef struct changes {
	char *last;
	uint64_t count;
} changes_t;

static bool note_text(changes_t *c, const char *text) {
	if (c->last != NULL && strcmp(c->last, text) == 0)
		return false;
	free(c->last);
	c->last = mw_xstrdup(text);
	c->count++;
	return true;
}

void mw_query_samples(mw_database_t *d, const mw_range_t *range, mw_sum_t sum, mw_batch_t *batch,
		      mw_counted_t *counted) {
	changes_t instances = {.count = 0};
	*counted = (mw_counted_t){.profiles = 0};
	sqlite3_stmt *s = mw_matching(d, range, sum == MW_SUM_NEWEST, "s.service, s.instance");
	while (mw_database_step(d, s)) {
		int64_t time_ns = mw_sqlite.column_int64(s, MW_COLUMN_TIME);
		note_text(&instances, mw_column_text(s, MW_COLUMN_INSTANCE));
		counted->profiles++;
		if (time_ns > counted->newest_ns)
			counted->newest_ns = time_ns;
		mw_matching_add(s, counted->totals);
		read_samples(d, mw_sqlite.column_int64(s, MW_COLUMN_PROFILE), take_sample, batch);
	}
	counted->instances = instances.count;
	free(instances.last);
	mw_database_finish(s);
}

/* Replaces the functions of `location` by those of the symbols that were pushed for its build.
 * Returns true if there are some; the caller frees *lines, and calls mw_sqlite.reset(). */
static bool find_symbols(sqlite3_stmt *s, mw_database_t *d, mw_row_location_t *location,
			 mw_row_line_t **lines) {
	mw_bind_text(s, 1, location->build_id);
	mw_bind_number(s, 2, (int64_t)location->offset);
	if (!mw_database_step(d, s))
		return false;
	if ((uint64_t)mw_sqlite.column_int64(s, 0) > location->offset)
		location->line_count = mw_decode_lines(mw_sqlite.column_blob(s, 1),
						       (size_t)mw_sqlite.column_bytes(s, 1), lines);
	return true;
}

/* Whether symbols were pushed for any build. */
static bool has_symbols(mw_database_t *d) {
	sqlite3_stmt *s = mw_database_prepare(d, "SELECT 1 FROM symbols LIMIT 1");
	bool found = mw_database_step(d, s);
	if (found)
		mw_sqlite.reset(s);
	return found;
}

/* Adds the location of the current row. */
static void add_location(mw_database_t *d, sqlite3_stmt *row, bool asks_symbols,
			 mw_batch_t *batch) {
	mw_row_line_t *lines, *pushed = NULL;
	mw_row_location_t location = {
		.id = (uint64_t)mw_sqlite.column_int64(row, 0),
		.build_id = mw_column_text(row, 1),
		.path = mw_column_text(row, 2),
		.offset = (uint64_t)mw_sqlite.column_int64(row, 3),
		.flags = (uint32_t)mw_sqlite.column_int64(row, 4),
	};
	location.line_count = mw_decode_lines(mw_sqlite.column_blob(row, 5),
					      (size_t)mw_sqlite.column_bytes(row, 5), &lines);
	sqlite3_stmt *symbols = NULL;
	if (asks_symbols && location.build_id[0] != '\0') {
		symbols = mw_database_prepare(
			d, "SELECT past, lines FROM symbols WHERE build_id=?1 AND first<=?2"
			   " ORDER BY first DESC LIMIT 1");
		if (!find_symbols(symbols, d, &location, &pushed))
			symbols = NULL;
	}
	mw_batch_add_location(batch, &location, pushed != NULL ? pushed : lines);
	if (symbols != NULL)
		mw_sqlite.reset(symbols);
	free(lines);
	free(pushed);
}

static void add_locations_of(mw_database_t *d, bool asks_symbols, mw_batch_t *batch,
			     const uint64_t *ids, size_t count) {
	for (size_t i = 0; i < count; i++) {
		if (mw_batch_location(batch, ids[i]) != NULL)
			continue;
		sqlite3_stmt *s = mw_database_prepare(
			d, "SELECT id, build_id, path, place, flags, lines FROM locations"
			   " WHERE id=?1");
		mw_bind_number(s, 1, (int64_t)ids[i]);
		if (!mw_database_step(d, s))
			continue;
		add_location(d, s, asks_symbols, batch);
		mw_sqlite.reset(s);
	}
}

void mw_query_stacks(mw_database_t *d, mw_batch_t *batch) {
	bool asks_symbols = has_symbols(d);
	for (size_t i = 0; i < batch->sample_count; i++) {
		uint64_t *frames;
		sqlite3_stmt *s = mw_database_prepare(d, "SELECT frames FROM stacks WHERE id=?1");
		mw_bind_number(s, 1, (int64_t)batch->samples[i].stack);
		if (!mw_database_step(d, s))
			continue;
		size_t depth = mw_decode_frames(mw_sqlite.column_blob(s, 0),
						(size_t)mw_sqlite.column_bytes(s, 0), &frames);
		mw_sqlite.reset(s);
		mw_batch_add_stack(batch, batch->samples[i].stack, frames, depth);
		add_locations_of(d, asks_symbols, batch, frames, depth);
		free(frames);
	}
}

static int compare_texts(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Texts that come in any order, to be counted. */
typedef struct texts {
	char **texts;
	size_t count, capacity;
} texts_t;

static void keep_text(texts_t *t, const char *text) {
	t->texts = mw_grow(t->texts, &t->capacity, t->count + 1, sizeof(*t->texts));
	t->texts[t->count++] = mw_xstrdup(text);
}

/* Returns the number of different texts, and frees all. */
static uint64_t count_texts(texts_t *t) {
	uint64_t different = 0;
	if (t->count > 1)
		qsort(t->texts, t->count, sizeof(*t->texts), compare_texts);
	for (size_t i = 0; i < t->count; i++)
		different += i == 0 || strcmp(t->texts[i - 1], t->texts[i]) != 0;
	for (size_t i = 0; i < t->count; i++)
		free(t->texts[i]);
	free(t->texts);
	*t = (texts_t){.count = 0};
	return different;
}

mw_point_t *mw_query_timeline(mw_database_t *d, const mw_range_t *range, int64_t step_ns,
			      size_t *count) {
	mw_point_t *points = NULL;
	size_t capacity = 0;
	texts_t instances = {.count = 0};
	*count = 0;
	sqlite3_stmt *s = mw_matching(d, range, false, "p.time");
	while (mw_database_step(d, s)) {
		int64_t time_ns = mw_sqlite.column_int64(s, MW_COLUMN_TIME);
		int64_t step = time_ns - time_ns % step_ns;
		if (*count == 0 || points[*count - 1].time_ns != step) {
			if (*count > 0)
				points[*count - 1].instances = count_texts(&instances);
			points = mw_grow(points, &capacity, *count + 1, sizeof(*points));
			points[(*count)++] = (mw_point_t){.time_ns = step};
		}
		keep_text(&instances, mw_column_text(s, MW_COLUMN_INSTANCE));
		points[*count - 1].profiles++;
		mw_matching_add(s, points[*count - 1].totals);
	}
	if (*count > 0)
		points[*count - 1].instances = count_texts(&instances);
	mw_database_finish(s);
	return points;
}

/* Services whose rows come in order. */
typedef struct service_list {
	mw_service_row_t *rows;
	size_t count, capacity;
	texts_t hosts, versions, instances; /* of the last service */
} service_list_t;

static void finish_service(service_list_t *list) {
	if (list->count == 0)
		return;
	mw_service_row_t *row = &list->rows[list->count - 1];
	row->hosts = count_texts(&list->hosts);
	row->versions = count_texts(&list->versions);
	row->instances = count_texts(&list->instances);
}

/* Returns the service's row of the list, and counts the current profile in it. */
static mw_service_row_t *service_row(service_list_t *list, sqlite3_stmt *s) {
	const char *service = mw_column_text(s, MW_COLUMN_NAME);
	if (list->count == 0 || strcmp(list->rows[list->count - 1].service, service) != 0) {
		finish_service(list);
		list->rows =
			mw_grow(list->rows, &list->capacity, list->count + 1, sizeof(*list->rows));
		list->rows[list->count++] = (mw_service_row_t){.service = mw_xstrdup(service)};
	}
	mw_service_row_t *row = &list->rows[list->count - 1];
	int64_t time_ns = mw_sqlite.column_int64(s, MW_COLUMN_TIME);
	row->profiles++;
	if (time_ns > row->newest_ns)
		row->newest_ns = time_ns;
	keep_text(&list->instances, mw_column_text(s, MW_COLUMN_INSTANCE));
	keep_text(&list->hosts, mw_column_text(s, MW_COLUMN_HOST));
	keep_text(&list->versions, mw_column_text(s, MW_COLUMN_VERSION));
	return row;
}

/* Adds the newest profile of an instance. */
static void add_newest(mw_service_row_t *row, sqlite3_stmt *s) {
	int64_t time_ns = mw_sqlite.column_int64(s, MW_COLUMN_TIME);
	if (time_ns > row->newest_ns)
		row->newest_ns = time_ns;
	mw_matching_add(s, row->totals);
}

mw_service_row_t *mw_query_services(mw_database_t *d, const mw_range_t *range, size_t *count) {
	service_list_t list = {.count = 0};
	sqlite3_stmt *s = mw_matching(d, range, false, "name");
	while (mw_database_step(d, s))
		service_row(&list, s)->newest_ns = 0;
	mw_database_finish(s);
	finish_service(&list);
	s = mw_matching(d, range, true, "name");
	size_t at = 0;
	while (mw_database_step(d, s)) {
		const char *service = mw_column_text(s, MW_COLUMN_NAME);
		/* Another command may have stored a profile since. */
		while (at < list.count && strcmp(list.rows[at].service, service) < 0)
			at++;
		if (at < list.count && strcmp(list.rows[at].service, service) == 0)
			add_newest(&list.rows[at], s);
	}
	mw_database_finish(s);
	*count = list.count;
	return list.rows;
}

void mw_query_names(mw_database_t *d, mw_batch_t *batch) {
	sqlite3_stmt *s = mw_database_prepare(
		d, "SELECT id, build_id, path, place, flags, lines FROM locations"
		   " WHERE length(lines) > 0 OR build_id IN (SELECT build_id FROM symbols)");
	bool asks_symbols = has_symbols(d);
	while (mw_database_step(d, s))
		add_location(d, s, asks_symbols, batch);
}

static int compare_ids(const void *a, const void *b) {
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Numbers of the stacks that have one of the locations, in order.  The caller frees them. */
static uint64_t *stacks_with(mw_database_t *d, const uint64_t *locations, size_t count,
			     size_t *stack_count) {
	uint64_t *sorted = mw_xcalloc(count, sizeof(*sorted)), *stacks = NULL;
	size_t capacity = 0;
	if (count > 0)
		memcpy(sorted, locations, count * sizeof(*sorted));
	if (count > 1)
		qsort(sorted, count, sizeof(*sorted), compare_ids);
	*stack_count = 0;
	sqlite3_stmt *s = mw_database_prepare(d, "SELECT id, frames FROM stacks ORDER BY id");
	while (mw_database_step(d, s)) {
		uint64_t *frames;
		size_t depth = mw_decode_frames(mw_sqlite.column_blob(s, 1),
						(size_t)mw_sqlite.column_bytes(s, 1), &frames);
		bool found = false;
		for (size_t i = 0; i < depth && !found; i++)
			found = bsearch(&frames[i], sorted, count, sizeof(*sorted), compare_ids) !=
				NULL;
		free(frames);
		if (!found)
			continue;
		stacks = mw_grow(stacks, &capacity, *stack_count + 1, sizeof(*stacks));
		stacks[(*stack_count)++] = (uint64_t)mw_sqlite.column_int64(s, 0);
	}
	free(sorted);
	if (*stack_count > 1)
		qsort(stacks, *stack_count, sizeof(*stacks), compare_ids);
	return stacks;
}

/* Sums of a profile's samples whose stack is in a list. */
typedef struct holding {
	const uint64_t *stacks;
	size_t count;
	int64_t totals[MW_VALUES];
	bool found;
} holding_t;

static void hold_sample(void *context, uint64_t stack, const int64_t values[MW_VALUES]) {
	holding_t *h = context;
	if (h->count == 0 ||
	    bsearch(&stack, h->stacks, h->count, sizeof(stack), compare_ids) == NULL)
		return;
	h->found = true;
	for (int k = 0; k < MW_VALUES; k++)
		h->totals[k] = mw_row_sum(h->totals[k], values[k]);
}

mw_service_row_t *mw_query_holders(mw_database_t *d, const mw_range_t *range,
				   const uint64_t *locations, size_t location_count,
				   size_t *count) {
	service_list_t list = {.count = 0};
	size_t stack_count;
	uint64_t *stacks = stacks_with(d, locations, location_count, &stack_count);
	sqlite3_stmt *s = mw_matching(d, range, true, "name");
	while (mw_database_step(d, s)) {
		holding_t h = {.stacks = stacks, .count = stack_count};
		read_samples(d, mw_sqlite.column_int64(s, MW_COLUMN_PROFILE), hold_sample, &h);
		if (!h.found)
			continue;
		mw_service_row_t *row = service_row(&list, s);
		for (int k = 0; k < MW_VALUES; k++)
			row->totals[k] = mw_row_sum(row->totals[k], h.totals[k]);
	}
	mw_database_finish(s);
	finish_service(&list);
	free(stacks);
	*count = list.count;
	return list.rows;
}
