/* SPDX-License-Identifier: MIT
 * rows.c -- adds up values by row text.  A row exists as long as the view. */
#include "screen/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/table.h"

/* Frames in a row's text.  A terminal shows about three; keys scroll to the others. */
#define STACK_FRAMES 8
/* Time constant of the allocation rates, in seconds. */
#define RATE_TIME_S 2.0

typedef struct row {
	mw_live_row_t shown;
	int64_t alloc_before;
	uint64_t last_sample; /* number of the last sample that was added to the row */
	/* Updates for each point of the history, and updates since the last point. */
	unsigned stride, passed;
} row_t;

struct mw_rows {
	mw_fold_t fold;
	row_t **rows; /* rows[0] is unused */
	size_t count, capacity;
	mw_table_t by_text;
	const mw_live_row_t **sorted;
	size_t sorted_capacity;
	double first_s, last_s; /* times of the first and the last update; 0 = there was none */
	uint64_t sample_count;  /* samples of all updates */
};

mw_rows_t *mw_rows_new(mw_fold_t fold) {
	mw_rows_t *rows = mw_xcalloc(1, sizeof(*rows));
	rows->fold = fold;
	rows->rows = mw_grow(NULL, &rows->capacity, 1, sizeof(row_t *));
	rows->count = 1;
	return rows;
}

void mw_rows_free(mw_rows_t *rows) {
	for (size_t i = 1; i < rows->count; i++) {
		free(rows->rows[i]->shown.text);
		free(rows->rows[i]);
	}
	mw_table_clear(&rows->by_text);
	free(rows->rows);
	free(rows->sorted);
	free(rows);
}

static bool text_equal(const void *context, uint32_t entry, const void *key) {
	const row_t *const *rows = context;
	return strcmp(rows[entry]->shown.text, key) == 0;
}

static row_t *find_row(mw_rows_t *r, const char *text) {
	uint64_t hash = mw_table_hash(text, strlen(text));
	uint32_t found = mw_table_find(&r->by_text, hash, text_equal, r->rows, text);
	if (found != 0)
		return r->rows[found];
	r->rows = mw_grow(r->rows, &r->capacity, r->count + 1, sizeof(row_t *));
	row_t *row = r->rows[r->count] = mw_xcalloc(1, sizeof(row_t));
	row->shown.text = mw_xstrdup(text);
	mw_table_add(&r->by_text, hash, (uint32_t)r->count++);
	return row;
}

/* Writes "leaf < caller < its caller" from a frame on, inlined functions included. */
static void write_stack(const mw_profile_t *p, mw_names_t *names, const mw_sample_t *s,
			mw_frame_position_t from, char *buffer, size_t size) {
	size_t used = 0;
	for (uint32_t i = from.frame, shown = 0; i < s->depth && shown < STACK_FRAMES; i++) {
		mw_name_t name = mw_names_find(names, p, p->frames[s->frame_first + i]);
		uint32_t count = mw_name_functions(name), k = i == from.frame ? from.line : 0;
		for (; k < count && shown < STACK_FRAMES && used < size; k++)
			used += (size_t)snprintf(buffer + used, size - used, "%s%.200s",
						 shown++ > 0 ? " < " : "",
						 mw_name_function(name, k));
	}
}

/* Returns the text of the row that counts a stack, for folds with one row for each stack. */
static const char *text_of(const mw_rows_t *r, const mw_profile_t *p, mw_names_t *names,
			   const mw_sample_t *s, char *buffer, size_t size) {
	if (s->depth == 0)
		return "[no stack]";
	mw_frame_position_t first = mw_names_first(names, p, s);
	mw_name_t leaf = mw_names_find(names, p, p->frames[s->frame_first + first.frame]);
	if (r->fold == MW_FOLD_MODULE)
		return mw_name_module(leaf);
	if (r->fold == MW_FOLD_FUNCTION)
		return mw_name_function(leaf, first.line);
	write_stack(p, names, s, first, buffer, size);
	return buffer;
}

static void add_values(mw_rows_t *r, const char *text, const int64_t *values, int live, int alloc) {
	row_t *row = find_row(r, text);
	if (row->last_sample == r->sample_count)
		return; /* a recursive stack counts once */
	row->last_sample = r->sample_count;
	if (__builtin_add_overflow(row->shown.live_bytes, values[live], &row->shown.live_bytes))
		row->shown.live_bytes = INT64_MAX;
	if (__builtin_add_overflow(row->shown.alloc_bytes, values[alloc], &row->shown.alloc_bytes))
		row->shown.alloc_bytes = INT64_MAX;
}

/* Adds the values to the row of each function of the stack. */
static void add_to_all(mw_rows_t *r, const mw_profile_t *p, mw_names_t *names, const mw_sample_t *s,
		       const int64_t *values, int live, int alloc) {
	mw_frame_position_t first = mw_names_first(names, p, s);
	for (uint32_t i = first.frame; i < s->depth; i++) {
		mw_name_t name = mw_names_find(names, p, p->frames[s->frame_first + i]);
		uint32_t k = i == first.frame ? first.line : 0;
		for (; k < mw_name_functions(name); k++)
			add_values(r, mw_name_function(name, k), values, live, alloc);
	}
}

/* Returns the number of the type; in a profile of CPU time that of the time. */
static int type_of(const mw_profile_t *p, const char *name) {
	int type = mw_profile_find_type(p, name);
	return type >= 0 ? type : (int)p->default_type;
}

static void sum_up(mw_rows_t *r, const mw_profile_t *p, mw_names_t *names) {
	int live = type_of(p, "inuse_space");
	int alloc = type_of(p, "alloc_space");
	for (size_t i = 0; i < p->sample_count && live >= 0 && alloc >= 0; i++) {
		char buffer[STACK_FRAMES * 210];
		const mw_sample_t *s = &p->samples[i];
		const int64_t *values = mw_profile_values(p, i);
		if (!mw_names_in_focus(names, p, s))
			continue;
		r->sample_count++;
		if (r->fold == MW_FOLD_CALLEES && s->depth > 0)
			add_to_all(r, p, names, s, values, live, alloc);
		else
			add_values(r, text_of(r, p, names, s, buffer, sizeof(buffer)), values, live,
				   alloc);
	}
}

static void add_point(row_t *row) {
	mw_live_row_t *shown = &row->shown;
	if (row->passed++ < row->stride)
		return;
	row->passed = 0;
	if (shown->point_count == MW_ROW_POINTS) {
		for (size_t i = 0; i < MW_ROW_POINTS / 2; i++)
			shown->points[i] = shown->points[2 * i + 1];
		shown->point_count = MW_ROW_POINTS / 2;
		row->stride = 2 * row->stride + 1;
	}
	shown->points[shown->point_count++] = shown->live_bytes;
}

void mw_rows_update(mw_rows_t *r, const mw_profile_t *p, mw_names_t *names, double now_s) {
	double elapsed_s = r->last_s > 0 ? now_s - r->last_s : 0;
	for (size_t i = 1; i < r->count; i++) {
		r->rows[i]->alloc_before = r->rows[i]->shown.alloc_bytes;
		r->rows[i]->shown.live_bytes = r->rows[i]->shown.alloc_bytes = 0;
	}
	mw_names_learn(names, p);
	sum_up(r, p, names);
	for (size_t i = 1; i < r->count; i++)
		add_point(r->rows[i]);
	if (r->first_s == 0)
		r->first_s = now_s;
	/* During the first seconds the mean is over the time since the begin. */
	double weight = elapsed_s > 0 ? (1 - exp(-elapsed_s / RATE_TIME_S)) /
						(1 - exp(-(now_s - r->first_s) / RATE_TIME_S))
				      : 0;
	for (size_t i = 1; i < r->count && elapsed_s > 0; i++) {
		mw_live_row_t *row = &r->rows[i]->shown;
		double rate = (double)(row->alloc_bytes - r->rows[i]->alloc_before) / elapsed_s;
		/* After a reset the sums start again from 0. */
		row->alloc_bytes_per_s += weight * (fmax(rate, 0) - row->alloc_bytes_per_s);
	}
	r->last_s = now_s;
}

static bool calls(const mw_profile_t *p, mw_names_t *names, const mw_sample_t *s,
		  const char *function) {
	for (uint32_t i = 0; i < s->depth; i++) {
		mw_name_t name = mw_names_find(names, p, p->frames[s->frame_first + i]);
		for (uint32_t k = 0; k < mw_name_functions(name); k++)
			if (strcmp(mw_name_function(name, k), function) == 0)
				return true;
	}
	return false;
}

size_t mw_rows_largest_sample(const mw_rows_t *r, const char *text, const mw_profile_t *p,
			      mw_names_t *names) {
	int live = p != NULL ? type_of(p, "inuse_space") : -1;
	size_t best = MW_ROWS_NO_SAMPLE;
	for (size_t i = 0; live >= 0 && i < p->sample_count; i++) {
		char buffer[STACK_FRAMES * 210];
		const mw_sample_t *s = &p->samples[i];
		int64_t value = mw_profile_values(p, i)[live];
		if (!mw_names_in_focus(names, p, s) ||
		    (best != MW_ROWS_NO_SAMPLE && value <= mw_profile_values(p, best)[live]))
			continue;
		bool is_callee = r->fold == MW_FOLD_CALLEES && s->depth > 0;
		if (is_callee ? calls(p, names, s, text)
			      : strcmp(text_of(r, p, names, s, buffer, sizeof(buffer)), text) == 0)
			best = i;
	}
	return best;
}

void mw_rows_mark(mw_rows_t *r) {
	for (size_t i = 1; i < r->count; i++)
		r->rows[i]->shown.marked_bytes = r->rows[i]->shown.live_bytes;
}

static double key_of(const mw_live_row_t *row, mw_row_order_t order) {
	return order == MW_ROWS_BY_RATE     ? row->alloc_bytes_per_s
	       : order == MW_ROWS_BY_GROWTH ? (double)row->live_bytes - (double)row->marked_bytes
					    : (double)row->live_bytes;
}

static int compare_rows(const void *a, const void *b, void *context) {
	const mw_live_row_t *x = *(const mw_live_row_t *const *)a;
	const mw_live_row_t *y = *(const mw_live_row_t *const *)b;
	mw_row_order_t order = *(const mw_row_order_t *)context;
	double p = key_of(x, order), q = key_of(y, order);
	if (p == q)
		p = (double)x->live_bytes, q = (double)y->live_bytes;
	return p != q ? (p < q ? 1 : -1) : strcmp(x->text, y->text);
}

const mw_live_row_t *const *mw_rows_sorted(mw_rows_t *r, mw_row_order_t order, size_t *count) {
	r->sorted = mw_grow(r->sorted, &r->sorted_capacity, r->count, sizeof(*r->sorted));
	*count = 0;
	for (size_t i = 1; i < r->count; i++) {
		const mw_live_row_t *row = &r->rows[i]->shown;
		/* A rate below a byte a second is the remainder of a rate that has ended. */
		bool empty = row->live_bytes == 0 && row->marked_bytes == 0 &&
			     row->alloc_bytes_per_s < 1;
		if (!empty)
			r->sorted[(*count)++] = row;
	}
	if (*count > 1)
		qsort_r(r->sorted, *count, sizeof(*r->sorted), compare_rows, &order);
	return r->sorted;
}
