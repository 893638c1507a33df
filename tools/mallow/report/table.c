/* SPDX-License-Identifier: MIT
 * table.c -- sums by row. */
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "model/table.h"
#include "report/interval.h"
#include "symbol/symbolize.h"

/* A place in the source within a row.  Rows and places are numbered from 1, as mw_table_t wants. */
typedef struct place {
	uint32_t row;
	mw_string_t file;
	int64_t line;
	int64_t value;
} place_t;

typedef struct row_state {
	mw_row_t row;
	mw_string_t name; /* 0: by location */
	uint32_t location;
	mw_string_t file; /* key, by line only */
	int64_t line;
	size_t last_sample; /* sample + 1 that was counted last */
	uint32_t best_place;
	size_t place_count;
} row_state_t;

/* What one line of a location, or a location without lines, counts for; found once. */
typedef struct target {
	uint32_t row;   /* 0: not looked for yet */
	uint32_t place; /* 0: none */
} target_t;

typedef struct sums_builder {
	const mw_profile_t *profile;
	bool by_line;
	target_t *of_line;     /* by index in the profile's lines */
	target_t *of_location; /* of those without lines */
	row_state_t *rows;
	size_t row_count, row_capacity;
	place_t *places;
	size_t place_count, place_capacity;
	mw_table_t row_table;
	mw_table_t place_table;
} sums_builder_t;

static bool row_equal(const void *context, uint32_t entry, const void *key) {
	const row_state_t *have = &((const sums_builder_t *)context)->rows[entry];
	const uint64_t *want = key;
	return ((uint64_t)have->name << 32 | have->location) == want[0] && have->file == want[1] &&
	       (uint64_t)have->line == want[2];
}

static bool place_equal(const void *context, uint32_t entry, const void *key) {
	const place_t *have = &((const sums_builder_t *)context)->places[entry];
	const uint64_t *want = key;
	return have->row == want[0] && have->file == want[1] && (uint64_t)have->line == want[2];
}

static uint32_t find_row(sums_builder_t *b, mw_string_t name, uint32_t location, mw_string_t file,
			 int64_t line) {
	const uint64_t key[3] = {(uint64_t)name << 32 | location, b->by_line ? file : 0,
				 b->by_line ? (uint64_t)line : 0};
	uint64_t hash = mw_table_hash(key, sizeof(key));
	uint32_t row = mw_table_find(&b->row_table, hash, row_equal, b, key);
	if (row != 0)
		return row;
	b->rows = mw_grow(b->rows, &b->row_capacity, b->row_count + 1, sizeof(row_state_t));
	row = (uint32_t)b->row_count++;
	b->rows[row] = (row_state_t){.name = name,
				     .location = location,
				     .file = (mw_string_t)key[1],
				     .line = (int64_t)key[2]};
	mw_table_add(&b->row_table, hash, row);
	return row;
}

static uint32_t find_place(sums_builder_t *b, uint32_t row, mw_string_t file, int64_t line) {
	const uint64_t key[3] = {row, file, (uint64_t)line};
	uint64_t hash = mw_table_hash(key, sizeof(key));
	uint32_t place = mw_table_find(&b->place_table, hash, place_equal, b, key);
	if (place != 0)
		return place;
	b->places = mw_grow(b->places, &b->place_capacity, b->place_count + 1, sizeof(place_t));
	place = (uint32_t)b->place_count++;
	b->places[place] = (place_t){.row = row, .file = file, .line = line};
	mw_table_add(&b->place_table, hash, place);
	b->rows[row].place_count++;
	return place;
}

/* The target of a location's line `k`. */
static target_t find_target(sums_builder_t *b, uint32_t location, uint32_t k) {
	const mw_profile_t *p = b->profile;
	const mw_location_t *l = &p->locations[location];
	bool has_line = l->line_count > 0;
	target_t *target = has_line ? &b->of_line[l->line_first + k] : &b->of_location[location];
	if (target->row == 0 && !has_line) {
		target->row = find_row(b, 0, location, 0, 0);
	} else if (target->row == 0) {
		const mw_line_t *line = &p->lines[l->line_first + k];
		const mw_function_t *f = &p->functions[line->function];
		target->row =
			find_row(b, f->name, f->name == 0 ? location : 0, f->file, line->line);
		if (f->file != 0)
			target->place = find_place(b, target->row, f->file, line->line);
	}
	return *target;
}

static void add_saturating(int64_t *sum, int64_t value) {
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

/* A sample's value and how uncertain it is. */
typedef struct estimate {
	int64_t value;
	double variance;
} estimate_t;

static void add_frame(sums_builder_t *b, size_t sample, uint32_t row, size_t distance,
		      estimate_t estimate) {
	row_state_t *r = &b->rows[row];
	if (r->last_sample == 0 || distance < r->row.distance)
		r->row.distance = distance;
	if (distance == 0) {
		add_saturating(&r->row.flat, estimate.value);
		r->row.flat_variance += estimate.variance;
	}
	/* Recursion: a stack counts once however often it comes through. */
	if (r->last_sample != sample + 1)
		add_saturating(&r->row.cum, estimate.value);
	r->last_sample = sample + 1;
}

/* Remembers which place of a row has most. */
static void add_place(sums_builder_t *b, target_t target, int64_t value) {
	row_state_t *r = &b->rows[target.row];
	add_saturating(&b->places[target.place].value, value);
	if (r->best_place == 0 || b->places[target.place].value > b->places[r->best_place].value)
		r->best_place = target.place;
}

static void add_sample(sums_builder_t *b, size_t sample, estimate_t estimate) {
	const mw_profile_t *p = b->profile;
	const mw_sample_t *s = &p->samples[sample];
	size_t distance = 0;
	for (uint32_t i = 0; i < s->depth; i++) {
		uint32_t location = p->frames[s->frame_first + i];
		uint32_t k = 0, line_count = p->locations[location].line_count;
		do {
			target_t target = find_target(b, location, k);
			add_frame(b, sample, target.row, distance++, estimate);
			if (target.place != 0)
				add_place(b, target, estimate.value);
		} while (++k < line_count);
	}
}

/* Where the numbers are equal the order is that of a stack, then by name: a report does not depend
 * on addresses. */
static int compare_equals(const mw_row_t *a, const mw_row_t *b) {
	if (a->distance != b->distance)
		return a->distance < b->distance ? -1 : 1;
	int order = strcmp(a->name, b->name);
	return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

static int compare_flat(const void *x, const void *y) {
	const mw_row_t *a = x, *b = y;
	if (a->flat != b->flat)
		return a->flat < b->flat ? 1 : -1;
	if (a->cum != b->cum)
		return a->cum < b->cum ? 1 : -1;
	return compare_equals(a, b);
}

static int compare_cum(const void *x, const void *y) {
	const mw_row_t *a = x, *b = y;
	if (a->cum != b->cum)
		return a->cum < b->cum ? 1 : -1;
	if (a->flat != b->flat)
		return a->flat < b->flat ? 1 : -1;
	return compare_equals(a, b);
}

/* Longest name of a location without symbols: a file name and two numbers. */
#define NAME_BYTES 320

static void take_rows(mw_sums_t *sums, sums_builder_t *b) {
	const mw_profile_t *p = b->profile;
	sums->row_count = b->row_count - 1;
	sums->rows = mw_xcalloc(sums->row_count, sizeof(mw_row_t));
	for (size_t i = 1; i < b->row_count; i++) {
		row_state_t *r = &b->rows[i];
		if (r->name != 0) {
			r->row.name = mw_profile_string(p, r->name);
		} else {
			char text[NAME_BYTES];
			mw_location_name(p, r->location, text, sizeof(text));
			r->row.own_name = mw_xstrdup(text);
			r->row.name = r->row.own_name;
		}
		if (r->best_place != 0) {
			r->row.file = b->places[r->best_place].file;
			r->row.line = b->places[r->best_place].line;
			r->row.other_lines = r->place_count - 1;
		}
		sums->rows[i - 1] = r->row;
	}
}

void mw_sums_init(mw_sums_t *sums, const mw_profile_t *p, size_t type, bool by_line,
		  bool sort_by_cum) {
	sums_builder_t b = {
		.profile = p,
		.by_line = by_line,
		.of_line = mw_xcalloc(p->line_count, sizeof(target_t)),
		.of_location = mw_xcalloc(p->location_count, sizeof(target_t)),
		.row_count = 1,
		.place_count = 1,
	};
	*sums = (mw_sums_t){.total = mw_profile_total(p, type)};
	mw_interval_types_t interval;
	bool has_interval = mw_interval_types_find(p, type, &interval);
	b.rows = mw_grow(NULL, &b.row_capacity, 1, sizeof(row_state_t));
	b.places = mw_grow(NULL, &b.place_capacity, 1, sizeof(place_t));
	for (size_t i = 0; i < p->sample_count; i++) {
		estimate_t estimate = {.value = mw_profile_values(p, i)[type]};
		if (estimate.value == 0)
			continue;
		if (has_interval)
			estimate.variance = mw_interval_variance(p, i, type, &interval);
		sums->variance += estimate.variance;
		add_sample(&b, i, estimate);
		bool same = i > 0 && mw_profile_values(p, i - 1)[type] != 0 &&
			    mw_profile_same_stack(p, i - 1, i);
		sums->stack_count += !same;
	}
	take_rows(sums, &b);
	qsort(sums->rows, sums->row_count, sizeof(mw_row_t),
	      sort_by_cum ? compare_cum : compare_flat);
	free(b.of_line);
	free(b.of_location);
	free(b.rows);
	free(b.places);
	mw_table_clear(&b.row_table);
	mw_table_clear(&b.place_table);
}

void mw_sums_release(mw_sums_t *sums) {
	for (size_t i = 0; i < sums->row_count; i++)
		free(sums->rows[i].own_name);
	free(sums->rows);
}
