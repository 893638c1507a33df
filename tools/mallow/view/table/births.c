/* SPDX-License-Identifier: MIT
 * births.c -- adds up samples by function and time of allocation. */
#include "view/table/births.h"

#include <stdlib.h>
#include <string.h>

static void add(int64_t *sum, int64_t value) {
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

/* Returns when the sample's objects were allocated; 0 = not known. */
static int64_t made_ns(const mw_profile_t *p, const mw_sample_t *sample) {
	for (uint32_t i = 0; i < sample->label_count; i++) {
		const mw_label_t *label = &p->labels[sample->label_first + i];
		if (label->text == 0 &&
		    strcmp(mw_profile_string(p, label->key), MW_LABEL_MADE) == 0)
			return label->number;
	}
	return 0;
}

/* Returns the text of the function that allocated the sample, as rows have it.  The caller frees
 * it; NULL = the stack is empty. */
static char *function_of(const mw_view_t *v, const mw_sample_t *sample) {
	const mw_profile_t *p = v->profile;
	if (sample->depth == 0)
		return NULL;
	uint32_t number = p->frames[sample->frame_first];
	const mw_location_t *location = &p->locations[number];
	const mw_line_t *line = location->line_count > 0 ? &p->lines[location->line_first] : NULL;
	return mw_frame_text(p, number, line, v->graph.granularity);
}

static size_t row_of(const mw_births_t *b, const mw_graph_t *g, const char *function) {
	size_t row = 0;
	while (row < b->rows && strcmp(mw_graph_node(g, row)->text, function) != 0)
		row++;
	return row;
}

/* Sets the time: from the first allocation to the moment of the profile. */
static void find_time(mw_births_t *b, const mw_profile_t *p) {
	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t made = made_ns(p, &p->samples[i]);
		if (made != 0 && (b->from_ns == 0 || made < b->from_ns))
			b->from_ns = made;
	}
	b->until_ns = b->from_ns == 0 ? 0 : p->time_ns > b->from_ns ? p->time_ns : b->from_ns + 1;
}

void mw_births_count(mw_births_t *b, const mw_view_t *v, const mw_graph_t *g) {
	const mw_profile_t *p = v->profile;
	size_t count = mw_graph_count(g);
	*b = (mw_births_t){.rows = count < MW_BIRTH_ROWS ? count : MW_BIRTH_ROWS};
	find_time(b, p);
	double span = (double)(b->until_ns - b->from_ns);
	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t made = made_ns(p, &p->samples[i]);
		int64_t value = mw_profile_values(p, i)[v->type];
		if (made == 0 || value == 0)
			continue;
		double at = (double)(made - b->from_ns) / span * MW_BIRTH_MOMENTS;
		size_t moment = at < MW_BIRTH_MOMENTS ? (size_t)at : MW_BIRTH_MOMENTS - 1;
		char *function = function_of(v, &p->samples[i]);
		size_t row = function != NULL ? row_of(b, g, function) : b->rows;
		free(function);
		if (row < b->rows)
			add(&b->sums[row][moment], value);
		add(&b->sums[MW_BIRTH_ROWS][moment], value);
	}
}

/* Rows are written as sums of all steps up to each. */
static void add_sums(const mw_births_t *b, size_t row, mw_json_t *j) {
	int64_t sum = 0;
	mw_json_open(j, "births", '[');
	for (size_t k = 0; k < MW_BIRTH_MOMENTS; k++) {
		add(&sum, b->sums[row][k]);
		mw_json_add_number(j, NULL, sum);
	}
	mw_json_close(j);
}

void mw_births_add_all(const mw_births_t *b, mw_json_t *j) {
	if (b->from_ns == 0)
		return;
	mw_json_add_number(j, "births_from_ns", b->from_ns);
	mw_json_add_number(j, "births_until_ns", b->until_ns);
	add_sums(b, MW_BIRTH_ROWS, j);
}

void mw_births_add_row(const mw_births_t *b, size_t row, mw_json_t *j) {
	if (b->from_ns != 0 && row < b->rows)
		add_sums(b, row, j);
}
