/* SPDX-License-Identifier: MIT
 * leaks_holders.c -- sorts the samples by what they are grouped by: equal ones are neighbours. */
#include "cmd/leaks/leaks_holders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "symbol/symbolize.h"
#include "view/select/wrappers.h"

#define NAME_BYTES 512

typedef struct row {
	size_t sample;
	const char *root;
	const char *through; /* NULL: no sampled block is between */
} row_t;

struct mw_holders {
	const mw_profile_t *profile;
	row_t *rows; /* one for each sample */
	/* by location, made when first asked for */
	char **root_names, **function_names;
};

static const char *label_text(const mw_profile_t *p, size_t sample, const char *key) {
	const mw_label_t *label = mw_profile_label(p, sample, key);
	return label != NULL ? mw_profile_string(p, label->text) : "";
}

const char *mw_holders_kind(const mw_profile_t *p, size_t sample) {
	return label_text(p, sample, MW_LABEL_HELD);
}

/* Returns the number of frames of the block that leads to this one. */
static uint32_t through_frames(const mw_profile_t *p, size_t sample) {
	const mw_label_t *label = mw_profile_label(p, sample, MW_LABEL_THROUGH);
	uint32_t depth = p->samples[sample].depth;
	return label != NULL && label->number > 0 && label->number + 1 < depth
		       ? (uint32_t)label->number
		       : 0;
}

/* Returns the number of outermost frames that say who holds the block. */
static uint32_t holding_frames(const mw_profile_t *p, size_t sample) {
	return p->samples[sample].depth > 0 ? 1 + through_frames(p, sample) : 0;
}

static void keep_one(mw_profile_t *p, size_t sample, mw_wrappers_t *wrappers) {
	mw_sample_t *s = &p->samples[sample];
	uint32_t count = through_frames(p, sample);
	if (count == 0)
		return;
	uint32_t *frames = p->frames + s->frame_first + s->depth - 1 - count;
	uint32_t own = wrappers != NULL ? mw_wrappers_skip(wrappers, frames, count).frame : 0;
	frames[0] = frames[own];
	frames[1] = frames[count];
	s->depth -= count - 1;
	p->labels[mw_profile_label(p, sample, MW_LABEL_THROUGH) - p->labels].number = 1;
}

void mw_holders_keep_one(mw_profile_t *p, bool skips_wrappers) {
	mw_wrappers_t *wrappers = skips_wrappers ? mw_wrappers_new(p, MW_WRAPPERS_ALL) : NULL;
	for (size_t i = 0; wrappers != NULL && i < p->sample_count; i++) {
		const mw_sample_t *s = &p->samples[i];
		uint32_t count = through_frames(p, i), own = s->depth - holding_frames(p, i);
		mw_wrappers_learn(wrappers, p->frames + s->frame_first, own);
		mw_wrappers_learn(wrappers, p->frames + s->frame_first + own, count);
	}
	for (size_t i = 0; i < p->sample_count; i++)
		keep_one(p, i, wrappers);
	if (wrappers != NULL)
		mw_wrappers_free(wrappers);
}

mw_sample_t mw_holders_allocation(const mw_holders_t *h, size_t sample) {
	mw_sample_t stack = h->profile->samples[sample];
	stack.depth -= holding_frames(h->profile, sample);
	return stack;
}

void mw_holders_cut_wrappers(mw_profile_t *p) {
	uint32_t *holding = mw_xcalloc(p->sample_count + 1, sizeof(*holding));
	for (size_t i = 0; i < p->sample_count; i++) {
		holding[i] = holding_frames(p, i);
		p->samples[i].depth -= holding[i];
	}
	mw_wrappers_cut(p, MW_WRAPPERS_ALL, NULL);
	for (size_t i = 0; i < p->sample_count; i++)
		p->samples[i].depth += holding[i];
	free(holding);
}

static uint32_t frame_from_end(const mw_profile_t *p, size_t sample, size_t from_end) {
	const mw_sample_t *s = &p->samples[sample];
	return p->frames[s->frame_first + s->depth - 1 - from_end];
}

/* ---- names ---- */

/* The outermost function of the code, or the variable. */
static const char *name_of(const mw_profile_t *p, uint32_t number, char buffer[NAME_BYTES]) {
	const mw_location_t *location = &p->locations[number];
	if (location->line_count == 0)
		return mw_location_name(p, number, buffer, NAME_BYTES);
	const mw_line_t *line = mw_location_line(p, location, location->line_count - 1);
	return mw_profile_string(p, p->functions[line->function].name);
}

/* "the variable cache in program", "[stack of main (4711)]" or "[mapping at 0x7f...]". */
static char *make_root_name(const mw_profile_t *p, uint32_t number) {
	const mw_location_t *root = &p->locations[number];
	char buffer[NAME_BYTES], name[NAME_BYTES + 64];
	const char *of_root = name_of(p, number, buffer);
	const char *path = mw_profile_string(p, p->mappings[root->mapping].path);
	const char *file = strrchr(path, '/');
	if (root->mapping != 0 && root->line_count > 0)
		snprintf(name, sizeof(name), "the variable %s in %s", of_root,
			 file != NULL ? file + 1 : path);
	else
		snprintf(name, sizeof(name), "%s%s", root->mapping != 0 ? "data at " : "", of_root);
	return mw_xstrdup(name);
}

static const char *root_name(mw_holders_t *h, size_t sample) {
	uint32_t number = frame_from_end(h->profile, sample, 0);
	if (h->root_names[number] == NULL)
		h->root_names[number] = make_root_name(h->profile, number);
	return h->root_names[number];
}

static const char *through_name(mw_holders_t *h, size_t sample) {
	if (through_frames(h->profile, sample) == 0)
		return NULL;
	uint32_t number = frame_from_end(h->profile, sample, 1);
	char buffer[NAME_BYTES];
	if (h->function_names[number] == NULL)
		h->function_names[number] = mw_xstrdup(name_of(h->profile, number, buffer));
	return h->function_names[number];
}

mw_holders_t *mw_holders_new(const mw_profile_t *p) {
	mw_holders_t *h = mw_xcalloc(1, sizeof(*h));
	h->profile = p;
	h->rows = mw_xcalloc(p->sample_count + 1, sizeof(*h->rows));
	h->root_names = mw_xcalloc(p->location_count + 1, sizeof(*h->root_names));
	h->function_names = mw_xcalloc(p->location_count + 1, sizeof(*h->function_names));
	for (size_t i = 0; i < p->sample_count; i++)
		h->rows[i] = (row_t){i, root_name(h, i), through_name(h, i)};
	return h;
}

void mw_holders_free(mw_holders_t *h) {
	for (size_t i = 0; i < h->profile->location_count; i++) {
		free(h->root_names[i]);
		free(h->function_names[i]);
	}
	free(h->root_names);
	free(h->function_names);
	free(h->rows);
	free(h);
}

/* ---- groups ---- */

typedef int (*compare_fn_t)(const void *left, const void *right, void *holders);

static int by_root(const void *left, const void *right, void *holders) {
	(void)holders;
	return strcmp(((const row_t *)left)->root, ((const row_t *)right)->root);
}

/* Blocks that hang on no other are last. */
static int by_through(const void *left, const void *right, void *holders) {
	(void)holders;
	const char *a = ((const row_t *)left)->through, *b = ((const row_t *)right)->through;
	if (a == NULL || b == NULL)
		return (a == NULL) - (b == NULL);
	return strcmp(a, b);
}

static int by_stack(const void *left, const void *right, void *holders) {
	const mw_holders_t *h = holders;
	mw_sample_t a = mw_holders_allocation(h, ((const row_t *)left)->sample);
	mw_sample_t b = mw_holders_allocation(h, ((const row_t *)right)->sample);
	if (a.depth != b.depth)
		return a.depth < b.depth ? -1 : 1;
	return memcmp(h->profile->frames + a.frame_first, h->profile->frames + b.frame_first,
		      a.depth * sizeof(*h->profile->frames));
}

static int by_bytes(const void *left, const void *right) {
	const mw_held_group_t *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return a->sample < b->sample ? -1 : a->sample > b->sample;
}

static void add_row(const mw_profile_t *p, mw_held_group_t *group, const row_t *row) {
	const int64_t *values = mw_profile_values(p, row->sample);
	if (group->count == 0 || row->sample < group->sample)
		group->sample = row->sample;
	group->objects += values[0];
	group->bytes += values[1];
	group->count++;
}

/* Sorts `count` rows from `first` on, and makes a group of each run of equal ones. */
static mw_held_groups_t group_rows(mw_holders_t *h, size_t first, size_t count,
				   compare_fn_t compare) {
	mw_held_groups_t groups = {.all = NULL};
	size_t capacity = 0;
	row_t *rows = h->rows + first;
	qsort_r(rows, count, sizeof(*rows), compare, h);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || compare(&rows[i - 1], &rows[i], h) != 0) {
			groups.all = mw_grow(groups.all, &capacity, groups.count + 1,
					     sizeof(*groups.all));
			groups.all[groups.count++] = (mw_held_group_t){.row = first + i};
		}
		add_row(h->profile, &groups.all[groups.count - 1], &rows[i]);
	}
	return groups;
}

static void sort_groups(mw_held_groups_t *groups) {
	if (groups->count > 0)
		qsort(groups->all, groups->count, sizeof(*groups->all), by_bytes);
}

mw_held_groups_t mw_holders_roots(mw_holders_t *h) {
	mw_held_groups_t groups = group_rows(h, 0, h->profile->sample_count, by_root);
	for (size_t i = 0; i < groups.count; i++)
		groups.all[i].name = h->rows[groups.all[i].row].root;
	sort_groups(&groups);
	return groups;
}

mw_held_groups_t mw_holders_through(mw_holders_t *h, const mw_held_group_t *root) {
	mw_held_groups_t groups = group_rows(h, root->row, root->count, by_through);
	for (size_t i = 0; i < groups.count; i++)
		groups.all[i].name = h->rows[groups.all[i].row].through;
	if (groups.count > 0 && groups.all[groups.count - 1].name == NULL)
		groups.count--;
	sort_groups(&groups);
	return groups;
}

mw_held_groups_t mw_holders_stacks(mw_holders_t *h, const mw_held_group_t *root) {
	mw_held_groups_t groups = group_rows(h, root->row, root->count, by_stack);
	sort_groups(&groups);
	return groups;
}
