/* SPDX-License-Identifier: MIT
 * detail.c -- looks up the source lines of one stack, and draws it. */
#include "screen/detail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "report/text/units.h"
#include "screen/draw.h"

/* Lines above the frames: values, history, the row's text, an empty line. */
#define HEAD_LINES 4

/* Copies one stack as locations without names, so that only these locations are looked up. */
static mw_profile_t *copy_stack(const mw_profile_t *p, const mw_sample_t *s) {
	mw_profile_t *copy = mw_profile_new();
	uint32_t *frames = mw_xcalloc(s->depth, sizeof(*frames));
	mw_profile_add_type(copy, "inuse_space", "bytes");
	for (uint32_t i = 0; i < s->depth; i++) {
		const mw_location_t *l = &p->locations[p->frames[s->frame_first + i]];
		mw_mapping_t mapping = p->mappings[l->mapping];
		uint32_t number = 0;
		mapping.path = mw_profile_intern(copy, mw_profile_string(p, mapping.path));
		mapping.build_id = mw_profile_intern(copy, mw_profile_string(p, mapping.build_id));
		if (l->mapping != 0)
			number = mw_profile_add_mapping(copy, &mapping);
		frames[i] = mw_profile_add_location(copy, number, l->address, l->is_exact);
	}
	const int64_t value = 1;
	mw_profile_add_sample(copy, frames, s->depth, &value, NULL, 0);
	free(frames);
	return copy;
}

static void add_line(mw_detail_t *d, const char *function, const char *file, int64_t line) {
	char *text = NULL;
	int length = *file == '\0' ? asprintf(&text, "%s", function)
		     : line > 0    ? asprintf(&text, "%s  %s:%lld", function, file, (long long)line)
				   : asprintf(&text, "%s  %s", function, file);
	if (length < 0)
		return;
	d->lines = mw_grow(d->lines, &d->capacity, d->line_count + 1, sizeof(char *));
	d->lines[d->line_count++] = text;
}

static void add_frame(mw_detail_t *d, const mw_profile_t *p, uint32_t location) {
	const mw_location_t *l = &p->locations[location];
	char name[256];
	for (uint32_t k = 0; k < mw_location_frames(l); k++) {
		const mw_line_t *line = mw_location_line(p, l, k);
		if (line == NULL) {
			add_line(d, mw_location_name(p, location, name, sizeof(name)), "", 0);
			continue;
		}
		const mw_function_t *function = &p->functions[line->function];
		add_line(d, mw_profile_string(p, function->name),
			 mw_profile_string(p, function->file), line->line);
	}
}

void mw_detail_open(mw_detail_t *d, const mw_watch_t *watch, const char *text) {
	mw_detail_close(d);
	d->text = mw_xstrdup(text);
	d->is_cpu = watch->is_cpu;
	const mw_profile_t *p = watch->now.profile;
	size_t sample = mw_rows_largest_sample(watch->rows, text, p, watch->names);
	if (sample == MW_ROWS_NO_SAMPLE)
		return;
	mw_profile_t *stack = copy_stack(p, &p->samples[sample]);
	mw_symbolize(stack, &watch->symbols);
	mw_profile_name_ranges(stack);
	for (uint32_t i = 0; i < stack->samples[0].depth; i++)
		add_frame(d, stack, stack->frames[stack->samples[0].frame_first + i]);
	mw_profile_free(stack);
}

void mw_detail_close(mw_detail_t *d) {
	for (size_t i = 0; i < d->line_count; i++)
		free(d->lines[i]);
	free(d->lines);
	free(d->text);
	*d = (mw_detail_t){0};
}

static void draw_times(const mw_live_row_t *row, int y) {
	char all[48], text[128];
	snprintf(text, sizeof(text), "%s in all   %.1f%% of a processor now",
		 mw_format_nanoseconds(row->live_bytes, all, sizeof(all)),
		 row->alloc_bytes_per_s / 1e7);
	mw_put(y, 2, mw_columns() - 2, text);
}

static void draw_values(const mw_live_row_t *row, int y) {
	char live[48], rate[48], all[48], text[192];
	snprintf(text, sizeof(text), "live %s   allocating %s/s   allocated in all %s",
		 mw_bytes_text((double)row->live_bytes, live, sizeof(live)),
		 mw_bytes_text(row->alloc_bytes_per_s, rate, sizeof(rate)),
		 mw_bytes_text((double)row->alloc_bytes, all, sizeof(all)));
	mw_put(y, 2, mw_columns() - 2, text);
}

void mw_detail_draw(mw_detail_t *d, const mw_live_row_t *row, int top, int height, bool has_utf8) {
	int room = height - HEAD_LINES;
	if (d->first > (int)d->line_count - room)
		d->first = (int)d->line_count - room;
	if (d->first < 0)
		d->first = 0;
	if (row != NULL && height > 0)
		(d->is_cpu ? draw_times : draw_values)(row, top);
	if (row != NULL && height > 1) {
		mw_put(top + 1, 2, mw_columns() - 2, "history");
		mw_put_history(top + 1, 10, mw_columns() - 11, row->points, row->point_count,
			       has_utf8);
	}
	if (height > 2)
		mw_put(top + 2, 2, mw_columns() - 2,
		       d->line_count == 0 ? "no stack of it is live"
		       : d->is_cpu        ? "largest stack, the function that used the time first:"
					  : "largest stack, the function that allocated first:");
	for (int i = 0; i < room + 1 && d->first + i < (int)d->line_count; i++)
		mw_put(top + 3 + i, 4, mw_columns() - 4, d->lines[d->first + i]);
}
