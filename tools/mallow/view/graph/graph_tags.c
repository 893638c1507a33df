/* SPDX-License-Identifier: MIT
 * graph_tags.c -- sums of a node's samples by label text and size. */
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "report/text/pprof_units.h"
#include "view/graph/graph_parts.h"
#include "view/select/tags.h"

/* Label with which pprof marks the samples of a base profile.  It describes the profile, not the
 * program. */
#define BASE_MARK "pprof::base"

static bool name_equal(const void *context, uint32_t entry, const void *key) {
	return strcmp(((const mw_graph_tags_t *)context)->names[entry].text, key) == 0;
}

static uint32_t find_name(mw_graph_tags_t *t, const char *text, int64_t size) {
	uint64_t hash = mw_table_hash(text, strlen(text));
	uint32_t name = mw_table_find(&t->name_table, hash, name_equal, t, text);
	if (name != 0)
		return name;
	t->names = mw_grow(t->names, &t->name_capacity, t->name_count + 1, sizeof(*t->names));
	name = (uint32_t)t->name_count++;
	t->names[name] = (mw_tag_name_t){mw_xstrdup(text), size};
	mw_table_add(&t->name_table, hash, name);
	return name;
}

static bool is_thread(const mw_profile_t *p, const mw_label_t *label) {
	return label->text != 0 && strcmp(mw_profile_string(p, label->key), MW_LABEL_THREAD) == 0;
}

/* Returns whether threads of different names allocated. */
static bool has_threads(const mw_profile_t *p) {
	mw_string_t first = 0;
	for (size_t i = 0; i < p->label_count; i++) {
		if (!is_thread(p, &p->labels[i]))
			continue;
		if (first != 0 && p->labels[i].text != first)
			return true;
		first = p->labels[i].text;
	}
	return false;
}

static bool is_shown_text(const mw_graph_tags_t *t, const mw_profile_t *p,
			  const mw_label_t *label) {
	return label->text != 0 && strcmp(mw_profile_string(p, label->key), BASE_MARK) != 0 &&
	       (t->has_threads || !is_thread(p, label));
}

static int compare_lines(const void *left, const void *right) {
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Returns the name of the sample's text labels in alphabetical order; 0 = it has none. */
static uint32_t name_texts(mw_graph_tags_t *t, const mw_profile_t *p, const mw_sample_t *s) {
	const mw_label_t *labels = p->labels + s->label_first;
	char **lines = mw_xcalloc(s->label_count, sizeof(*lines));
	size_t count = 0, size = 1;
	for (uint32_t i = 0; i < s->label_count; i++) {
		if (!is_shown_text(t, p, &labels[i]))
			continue;
		const char *key = mw_profile_string(p, labels[i].key);
		const char *value = mw_profile_string(p, labels[i].text);
		char *line = lines[count++] = mw_xcalloc(strlen(key) + strlen(value) + 2, 1);
		stpcpy(stpcpy(stpcpy(line, key), ":"), value);
		size += strlen(line) + 1;
	}
	qsort(lines, count, sizeof(*lines), compare_lines);
	char *text = mw_xcalloc(size, 1), *end = text;
	for (size_t i = 0; i < count; i++) {
		end = stpcpy(stpcpy(end, i > 0 ? "\n" : ""), lines[i]);
		free(lines[i]);
	}
	uint32_t name = count > 0 ? find_name(t, text, 0) : 0;
	free(text);
	free(lines);
	return name;
}

static bool is_size(const mw_profile_t *p, const mw_label_t *label) {
	/* A label without any value has number 0 and no unit. */
	return label->text == 0 && (label->number != 0 || label->unit != 0) &&
	       strcmp(mw_profile_string(p, label->key), MW_LABEL_SIZE) == 0;
}

/* Returns the label's size in bytes without a unit. */
static mw_label_t in_bytes(const mw_label_t *label, const mw_unit_t *unit) {
	double size = (double)label->number * (unit != NULL ? unit->size : 1);
	mw_label_t result = *label;
	if (size < 0x1p62 && size > -0x1p62)
		result.number = (int64_t)size;
	result.unit = 0;
	return result;
}

/* Returns the unit of all sizes: the unit of the first size that has one, as in pprof. */
static const mw_unit_t *unit_of_sizes(const mw_profile_t *p) {
	for (size_t i = 0; i < p->label_count; i++)
		if (p->labels[i].unit != 0 && is_size(p, &p->labels[i]))
			return mw_unit_find(mw_units_of("bytes"),
					    mw_profile_string(p, p->labels[i].unit));
	return NULL;
}

void mw_graph_tags_begin(mw_graph_t *g) {
	const mw_profile_t *p = g->profile;
	if (p->label_count == 0)
		return;
	mw_graph_tags_t *t = g->tags = mw_xcalloc(1, sizeof(*t));
	t->names = mw_grow(NULL, &t->name_capacity, 1, sizeof(*t->names));
	t->sums = mw_grow(NULL, &t->sum_capacity, 1, sizeof(*t->sums));
	t->name_count = t->sum_count = 1;
	t->text_of_sample = mw_xcalloc(p->sample_count, sizeof(uint32_t));
	t->size_of_label = mw_xcalloc(p->label_count, sizeof(uint32_t));
	const mw_unit_t *unit = unit_of_sizes(p);
	/* One thread's name beside each function would tell nothing. */
	t->has_threads = !g->options.is_drawn || has_threads(p);
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_sample_t *s = &p->samples[i];
		t->text_of_sample[i] = name_texts(t, p, s);
		for (uint32_t k = 0; k < s->label_count; k++) {
			const mw_label_t *label = &p->labels[s->label_first + k];
			if (!is_size(p, label))
				continue;
			char buffer[MW_TAG_BYTES];
			mw_label_t size = in_bytes(label, unit);
			const char *text = mw_tag_text(p, &size, g->options.size_unit, buffer);
			t->size_key = label->key;
			t->size_of_label[s->label_first + k] = find_name(t, text, size.number);
		}
	}
}

void mw_graph_tags_free(mw_graph_t *g) {
	mw_graph_tags_t *t = g->tags;
	if (t == NULL)
		return;
	for (size_t i = 1; i < t->name_count; i++)
		free(t->names[i].text);
	free(t->names);
	mw_table_clear(&t->name_table);
	free(t->text_of_sample);
	free(t->size_of_label);
	free(t->sums);
	mw_table_clear(&t->sum_table);
	free(t);
	g->tags = NULL;
}

void mw_graph_tags_reset(mw_graph_t *g) {
	if (g->tags == NULL)
		return;
	mw_table_clear(&g->tags->sum_table);
	g->tags->sum_count = 1;
}

static bool sum_equal(const void *context, uint32_t entry, const void *key) {
	const mw_tag_sum_t *have = &((const mw_graph_tags_t *)context)->sums[entry];
	const uint32_t *want = key;
	return have->node == want[0] && have->text == want[1] && have->size == want[2];
}

static void add_to(mw_graph_t *g, uint32_t node, uint32_t text, uint32_t size,
		   const mw_tagged_value_t *value) {
	mw_graph_tags_t *t = g->tags;
	const uint32_t key[3] = {node, text, size};
	uint64_t hash = mw_table_hash(key, sizeof(key));
	uint32_t sum = mw_table_find(&t->sum_table, hash, sum_equal, t, key);
	if (sum == 0) {
		t->sums = mw_grow(t->sums, &t->sum_capacity, t->sum_count + 1, sizeof(*t->sums));
		sum = (uint32_t)t->sum_count++;
		t->sums[sum] = (mw_tag_sum_t){
			.node = node, .text = text, .size = size, .next = g->nodes[node].tags};
		g->nodes[node].tags = sum;
		mw_table_add(&t->sum_table, hash, sum);
	}
	mw_tag_sum_t *s = &t->sums[sum];
	mw_graph_add(value->is_flat ? &s->flat : &s->cum, value->value);
	mw_graph_add(value->is_flat ? &s->flat_divisor : &s->cum_divisor, value->divisor);
}

void mw_graph_tags_add(mw_graph_t *g, uint32_t node, const mw_tagged_value_t *value) {
	if (g->tags == NULL)
		return;
	const mw_sample_t *s = &g->profile->samples[value->sample];
	uint32_t text = g->tags->text_of_sample[value->sample];
	if (text != 0)
		add_to(g, node, text, 0, value);
	for (uint32_t i = 0; i < s->label_count; i++) {
		uint32_t size = g->tags->size_of_label[s->label_first + i];
		if (size != 0)
			add_to(g, node, text, size, value);
	}
}

bool mw_tag_sum_is_shown(const mw_graph_tags_t *t, const mw_tag_sum_t *s) {
	return mw_magnitude(s->flat) >= t->cutoff || mw_magnitude(s->cum) >= t->cutoff;
}

size_t mw_graph_tags_count(const mw_graph_t *g, uint32_t node) {
	size_t count = 0;
	const mw_graph_tags_t *t = g->tags;
	for (uint32_t i = t != NULL ? g->nodes[node].tags : 0; i != 0; i = t->sums[i].next)
		count += t->sums[i].flat != 0 && mw_tag_sum_is_shown(t, &t->sums[i]);
	return count < MW_BOXES_OF_A_KIND ? count : MW_BOXES_OF_A_KIND;
}
