/* SPDX-License-Identifier: MIT
 * labels.c -- `tags`, `sizes`, `lifetimes` and `threads`: sums by label. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/table.h"
#include "report/text/names.h"
#include "report/text/types.h"
#include "view/common/json.h"
#include "view/common/values.h"
#include "view/common/view.h"
#include "view/select/tags.h"
#include "view/table/tables.h"

/* Fewest columns of a thread's name. */
#define THREAD_NAME_COLUMNS 6

typedef struct tag {
	mw_label_t label;
	mw_string_t name; /* name of the thread with this id; 0 = none */
	int64_t value;
	size_t first; /* first sample with this label */
} tag_t;

typedef struct tags {
	const mw_profile_t *profile;
	tag_t *tags; /* tags[0] is unused */
	size_t count, capacity;
	mw_table_t table;
} tags_t;

static bool tag_equal(const void *context, uint32_t entry, const void *key) {
	const tag_t *have = &((const tags_t *)context)->tags[entry];
	const mw_label_t *want = key;
	return have->label.key == want->key && have->label.text == want->text &&
	       have->label.number == want->number;
}

static tag_t *find_tag(tags_t *t, const mw_label_t *label, size_t sample) {
	const uint64_t key[2] = {(uint64_t)label->key << 32 | label->text, (uint64_t)label->number};
	uint64_t hash = mw_table_hash(key, sizeof(key));
	uint32_t tag = mw_table_find(&t->table, hash, tag_equal, t, label);
	if (tag == 0) {
		t->tags = mw_grow(t->tags, &t->capacity, t->count + 1, sizeof(tag_t));
		tag = (uint32_t)t->count++;
		t->tags[tag] = (tag_t){.label = *label, .first = sample};
		mw_table_add(&t->table, hash, tag);
	}
	return &t->tags[tag];
}

/* Adds up samples by their label `only`; NULL = by all labels. */
static void sum_up(tags_t *t, const mw_view_t *v, const char *only) {
	const mw_profile_t *p = t->profile = v->profile;
	*t = (tags_t){.profile = p, .count = 1};
	t->tags = mw_grow(NULL, &t->capacity, 1, sizeof(tag_t));
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_sample_t *s = &p->samples[i];
		int64_t value = mw_profile_values(p, i)[v->type];
		mw_string_t thread = 0;
		for (uint32_t k = 0; value != 0 && k < s->label_count; k++) {
			const mw_label_t *label = &p->labels[s->label_first + k];
			const char *key = mw_profile_string(p, label->key);
			if (strcmp(key, MW_LABEL_THREAD) == 0)
				thread = label->text;
			if (only != NULL && strcmp(key, only) != 0)
				continue;
			tag_t *tag = find_tag(t, label, i);
			if (strcmp(key, MW_LABEL_THREAD_ID) == 0)
				tag->name = thread;
			if (__builtin_add_overflow(tag->value, value, &tag->value))
				tag->value = INT64_MAX;
		}
	}
}

static int compare_tags(const void *left, const void *right, void *context) {
	const mw_profile_t *p = ((const tags_t *)context)->profile;
	const tag_t *a = left, *b = right;
	int order = strcmp(mw_profile_string(p, a->label.key), mw_profile_string(p, b->label.key));
	if (order != 0)
		return order;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static int64_t sum_of_key(const tags_t *t, size_t first) {
	int64_t sum = 0;
	for (size_t i = first; i < t->count && t->tags[i].label.key == t->tags[first].label.key;
	     i++)
		if (__builtin_add_overflow(sum, t->tags[i].value, &sum))
			return INT64_MAX;
	return sum;
}

/* Prints a label after `used` columns.  If there is no room for a thread's name, only its number
 * is printed. */
static void print_tag(const mw_view_t *v, const tag_t *tag, size_t used) {
	char buffer[MW_TAG_BYTES];
	if (tag->name == 0) {
		mw_view_name(v, mw_tag_text(v->profile, &tag->label, v->unit, buffer), used);
		return;
	}
	const char *name = mw_profile_string(v->profile, tag->name);
	used += (size_t)snprintf(buffer, sizeof(buffer), " (%" PRId64 ")", tag->label.number);
	if (v->columns > 0 && used + THREAD_NAME_COLUMNS > (size_t)v->columns) {
		fprintf(v->out, "%" PRId64, tag->label.number);
		return;
	}
	mw_view_name(v, name, used);
	fputs(buffer, v->out);
}

static void print_json(const mw_view_t *v, const tags_t *t) {
	mw_json_t j;
	mw_json_begin(&j, v);
	mw_json_open(&j, "tags", '[');
	for (size_t i = 1; i < t->count; i++) {
		const tag_t *tag = &t->tags[i];
		mw_json_open(&j, NULL, '{');
		mw_json_add_label(&j, v->profile, &tag->label);
		if (tag->name != 0)
			mw_json_add_text(&j, "name", mw_profile_string(v->profile, tag->name));
		mw_json_add_number(&j, "value", tag->value);
		mw_json_close(&j);
	}
	mw_json_end(&j);
}

static void print_key(const mw_view_t *v, const char *key, const char *sum) {
	const char *word = mw_room_of(v->columns) == MW_ROOM_ONE ? "" : "Total ";
	fputc('\n', v->out);
	mw_view_name(v, key, strlen(": ") + strlen(word) + strlen(sum));
	fprintf(v->out, ": %s%s\n", word, sum);
}

static void print_text(const mw_view_t *v, const tags_t *t) {
	char value[MW_VALUE_BYTES], percent[MW_VALUE_BYTES];
	const char *unit = mw_view_unit(v, NULL);
	int64_t sum = 0;
	mw_view_header(v, NULL, unit);
	if (t->count == 1 && !v->is_pprof)
		fprintf(v->out, "\n%s\n", mw_report_nothing(v->profile, v->type, v->total));
	for (size_t i = 1; i < t->count; i++) {
		const tag_t *tag = &t->tags[i];
		if (i == 1 || tag->label.key != t->tags[i - 1].label.key) {
			sum = sum_of_key(t, i);
			print_key(v, mw_profile_string(v->profile, tag->label.key),
				  mw_view_value(v, unit, sum, value));
		}
		const char *bytes = mw_view_value(v, unit, tag->value, value);
		int used = mw_room_of(v->columns) != MW_ROOM_ALL
				   ? fprintf(v->out, "%10s  ", bytes)
				   : fprintf(v->out, "%14s (%s): ", bytes,
					     mw_view_percent(tag->value, sum, percent));
		print_tag(v, tag, (size_t)used);
		fputc('\n', v->out);
	}
}

/* Says which sample types have the label. A state file knows the thread and the age of memory in
 * use only: what is freed is added up over all threads. */
static int say_missing(const mw_view_t *v, const char *only, mw_error_t *error) {
	const mw_profile_t *p = v->profile;
	const char *type = mw_profile_string(p, p->types[v->type].type);
	char types[300] = "";
	if (only != NULL && *mw_tag_types(p, only, types, sizeof(types)) != '\0')
		return mw_error_set(error, "this profile stores no %s for %s; it does for %s", only,
				    type, types);
	bool is_process = strcmp(mw_profile_string(p, p->origin.format), "state file") == 0;
	if (is_process && only != NULL && strcmp(only, MW_LABEL_THREAD_ID) == 0)
		return mw_error_set(error,
				    "a process keeps threads for memory in use and CPU time, not "
				    "for %s; it holds no memory now",
				    type);
	return mw_error_set(error,
			    "this profile stores no %s for %s; state files do for memory in use, "
			    "and dumps written with 'mallow dump --labels'",
			    only != NULL ? only : "labels", type);
}

static int print(const mw_view_t *v, const char *only, mw_error_t *error) {
	tags_t t;
	sum_up(&t, v, only);
	qsort_r(t.tags + 1, t.count - 1, sizeof(tag_t), compare_tags, &t);
	/* A profile whose values are all 0 has no labels either; that is no error. */
	bool has_some = t.count > 1 || mw_report_is_empty(v->profile, v->type);
	if (v->json)
		print_json(v, &t);
	else if (has_some)
		print_text(v, &t);
	free(t.tags);
	mw_table_clear(&t.table);
	if (has_some || v->json || v->is_pprof)
		return 0;
	return say_missing(v, only, error);
}

int mw_view_tags(const mw_view_t *v, mw_error_t *error) {
	return print(v, NULL, error);
}

int mw_view_sizes(const mw_view_t *v, mw_error_t *error) {
	return print(v, MW_LABEL_SIZE, error);
}

int mw_view_lifetimes(const mw_view_t *v, mw_error_t *error) {
	return print(v, MW_LABEL_LIFETIME, error);
}

int mw_view_threads(const mw_view_t *v, mw_error_t *error) {
	return print(v, MW_LABEL_THREAD_ID, error);
}
