/* SPDX-License-Identifier: MIT
 * row_sums.c -- adds up values by row. */
#include "report/row_sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/memory.h"
#include "model/table.h"
#include "report/interval.h"
#include "symbol/symbolize.h"

/* A source line within a row.  Rows and places are numbered from 1, because 0 means none in
 * mw_table_t. */
typedef struct place {
	uint32_t row;
	mw_string_t file;
	int64_t line;
	int64_t value;
	bool is_used; /* a sample with a value has this place */
} place_t;

/* The part of a row that every frame of every sample touches.  It is kept small and apart from
 * the rest, because frames come in any order and the rows may exceed the processor's caches. */
typedef struct passage {
	int64_t cum;
	uint32_t last_sample; /* 1 + number of the sample that was counted last; 0 = none */
	uint32_t distance;    /* fewest calls between this row and a leaf */
} passage_t;

typedef struct row_state {
	mw_string_t name; /* function; 0 = the row is a location without a name */
	uint32_t location;
	mw_string_t file; /* source file; part of the key in tables by line only */
	int64_t line;
	int64_t flat;
	mw_spread_t flat_spread;
} row_state_t;

typedef struct sums_builder {
	const mw_profile_t *profile;
	bool by_line;
	/* frame_first[l]: first frame of location l.  Its frames end at frame_first[l + 1]. */
	uint32_t *frame_first;
	uint32_t *frame_row;
	uint32_t *frame_place; /* place of each frame; 0 = none */
	row_state_t *rows;
	passage_t *passages; /* passages[i] belongs to row i */
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
	return place;
}

/* Finds row and place of each frame that a location is shown as. */
static void list_frames(sums_builder_t *b) {
	const mw_profile_t *p = b->profile;
	size_t count = 0;
	b->frame_first = mw_xcalloc(p->location_count + 1, sizeof(uint32_t));
	for (size_t i = 0; i < p->location_count; i++) {
		b->frame_first[i] = (uint32_t)count;
		count += mw_location_frames(&p->locations[i]);
	}
	b->frame_first[p->location_count] = (uint32_t)count;
	b->frame_row = mw_xcalloc(count, sizeof(uint32_t));
	b->frame_place = mw_xcalloc(count, sizeof(uint32_t));
	for (uint32_t i = 0; i < p->location_count; i++)
		for (uint32_t at = b->frame_first[i], k = 0; at < b->frame_first[i + 1];
		     at++, k++) {
			const mw_line_t *line = mw_location_line(p, &p->locations[i], k);
			if (line == NULL) {
				b->frame_row[at] = find_row(b, 0, i, 0, 0);
				continue;
			}
			const mw_function_t *f = &p->functions[line->function];
			b->frame_row[at] =
				find_row(b, f->name, f->name == 0 ? i : 0, f->file, line->line);
			if (f->file != 0)
				b->frame_place[at] =
					find_place(b, b->frame_row[at], f->file, line->line);
		}
	b->passages = mw_xcalloc(b->row_count, sizeof(passage_t));
}

static void add_saturating(int64_t *sum, int64_t value) {
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

/* A sample's value and its uncertainty. */
typedef struct estimate {
	int64_t value;
	mw_spread_t spread;
} estimate_t;

static void add_leaf(row_state_t *row, const estimate_t *estimate) {
	add_saturating(&row->flat, estimate->value);
	mw_spread_merge(&row->flat_spread, &estimate->spread);
}

static void add_place(place_t *place, int64_t value) {
	add_saturating(&place->value, value);
	place->is_used = true;
}

static void add_passage(passage_t *passage, uint32_t sample_number, uint32_t distance,
			int64_t value) {
	if (passage->last_sample == 0 || distance < passage->distance)
		passage->distance = distance;
	/* A recursive stack counts once for each row. */
	if (passage->last_sample != sample_number)
		add_saturating(&passage->cum, value);
	passage->last_sample = sample_number;
}

static void add_sample(sums_builder_t *b, size_t sample, const estimate_t *estimate) {
	const mw_sample_t *s = &b->profile->samples[sample];
	const uint32_t *locations = b->profile->frames + s->frame_first;
	uint32_t distance = 0;
	for (uint32_t i = 0; i < s->depth; i++) {
		uint32_t end = b->frame_first[locations[i] + 1];
		for (uint32_t at = b->frame_first[locations[i]]; at < end; at++) {
			uint32_t row = b->frame_row[at];
			if (distance == 0)
				add_leaf(&b->rows[row], estimate);
			add_passage(&b->passages[row], (uint32_t)sample + 1, distance++,
				    estimate->value);
			if (b->frame_place[at] != 0)
				add_place(&b->places[b->frame_place[at]], estimate->value);
		}
	}
}

/* Orders rows with equal numbers by their distance from the leaf, then by name, so that a report
 * does not depend on addresses. */
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

/* Most bytes of the name of a location without symbols: a file name and two numbers. */
#define NAME_BYTES 320

/* Finds for each row the place with the largest value, and counts its other places.  `rows` is
 * indexed by row number. */
static void take_places(const sums_builder_t *b, mw_row_t *rows) {
	int64_t *best = mw_xcalloc(b->row_count, sizeof(int64_t));
	for (size_t i = 1; i < b->place_count; i++) {
		const place_t *place = &b->places[i];
		mw_row_t *row = &rows[place->row];
		if (!place->is_used)
			continue;
		bool is_first = row->file == 0;
		row->other_lines += !is_first;
		if (!is_first && place->value <= best[place->row])
			continue;
		best[place->row] = place->value;
		row->file = place->file;
		row->line = place->line;
	}
	free(best);
}

static void take_rows(mw_sums_t *sums, sums_builder_t *b) {
	const mw_profile_t *p = b->profile;
	sums->rows = mw_xcalloc(b->row_count, sizeof(mw_row_t));
	take_places(b, sums->rows);
	for (size_t i = 1; i < b->row_count; i++) {
		const row_state_t *r = &b->rows[i];
		const passage_t *passage = &b->passages[i];
		/* No sample contains the location. */
		if (passage->last_sample == 0)
			continue;
		mw_row_t *row = &sums->rows[sums->row_count++];
		*row = sums->rows[i];
		row->flat = r->flat;
		row->flat_spread = r->flat_spread;
		row->cum = passage->cum;
		row->distance = passage->distance;
		if (r->name != 0) {
			row->name = mw_profile_string(p, r->name);
		} else {
			char text[NAME_BYTES];
			mw_location_name(p, r->location, text, sizeof(text));
			row->own_name = mw_xstrdup(text);
			row->name = row->own_name;
		}
	}
}

void mw_sums_init(mw_sums_t *sums, const mw_profile_t *p, size_t type, bool by_line,
		  bool sort_by_cum) {
	sums_builder_t b = {
		.profile = p,
		.by_line = by_line,
		.row_count = 1,
		.place_count = 1,
	};
	*sums = (mw_sums_t){.total = mw_profile_total(p, type)};
	mw_interval_types_t interval;
	bool has_interval = mw_interval_types_find(p, type, &interval);
	b.rows = mw_grow(NULL, &b.row_capacity, 1, sizeof(row_state_t));
	b.places = mw_grow(NULL, &b.place_capacity, 1, sizeof(place_t));
	list_frames(&b);
	for (size_t i = 0; i < p->sample_count; i++) {
		estimate_t estimate = {.value = mw_profile_values(p, i)[type]};
		if (estimate.value == 0)
			continue;
		if (has_interval)
			mw_spread_add_sample(&estimate.spread, p, i, type, &interval);
		mw_spread_merge(&sums->spread, &estimate.spread);
		add_sample(&b, i, &estimate);
		bool same = i > 0 && mw_profile_values(p, i - 1)[type] != 0 &&
			    mw_profile_same_stack(p, i - 1, i);
		sums->stack_count += !same;
	}
	take_rows(sums, &b);
	qsort(sums->rows, sums->row_count, sizeof(mw_row_t),
	      sort_by_cum ? compare_cum : compare_flat);
	free(b.frame_first);
	free(b.frame_row);
	free(b.frame_place);
	free(b.passages);
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

/* Returns the path relative to the current directory if the file is below it, otherwise the
 * whole path. */
static const char *below_here(const char *path) {
	static char directory[4096];
	if (directory[0] == '\0' && getcwd(directory, sizeof(directory) - 1) != NULL)
		strcat(directory, "/");
	size_t length = strlen(directory);
	return length > 1 && strncmp(path, directory, length) == 0 ? path + length : path;
}

bool mw_name_has_place(const char *name, const char *file, int64_t line) {
	char place[4200];
	const char *slash = strrchr(file, '/');
	snprintf(place, sizeof(place), " %s:%" PRId64 ":", slash != NULL ? slash + 1 : file, line);
	return line > 0 && strstr(name, place) != NULL;
}

void mw_row_place(const mw_profile_t *profile, const mw_row_t *row, bool by_line, bool is_short,
		  char *buffer, size_t size) {
	buffer[0] = '\0';
	if (row->file == 0 ||
	    (row->name != NULL &&
	     mw_name_has_place(row->name, mw_profile_string(profile, row->file), row->line)))
		return;
	const char *file = below_here(mw_profile_string(profile, row->file));
	const char *slash = strrchr(file, '/');
	if (is_short && slash != NULL)
		file = slash + 1;
	int length = row->line > 0 ? snprintf(buffer, size, "%s:%" PRId64, file, row->line)
				   : snprintf(buffer, size, "%s", file);
	if (!by_line && row->other_lines > 0 && length > 0 && (size_t)length < size)
		snprintf(buffer + length, size - (size_t)length, " (+%zu line%s)", row->other_lines,
			 row->other_lines == 1 ? "" : "s");
}
