/* SPDX-License-Identifier: MIT
 * traces.c -- `traces` and `collapsed`: each stack. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/table.h"
#include "model/text.h"
#include "report/text/names.h"
#include "view/common/json.h"
#include "view/common/values.h"
#include "view/common/view.h"
#include "view/table/tables.h"

#define SEPARATOR "-----------+-------------------------------------------------------"
/* First column of names. */
#define NAME_COLUMN 13

typedef struct frame {
	const char *text;
	const mw_line_t *line; /* NULL: unknown */
	bool is_inlined;
} frame_t;
typedef void see_frame_t(const mw_view_t *v, const frame_t *frame, void *context);

/* Calls the function for each frame of the sample, leaf first.  As in pprof, all functions at an
 * address except the outermost were inlined. */
static void each_frame(const mw_view_t *v, const mw_sample_t *s, see_frame_t *see, void *context) {
	const mw_profile_t *p = v->profile;
	for (uint32_t i = 0; i < s->depth; i++) {
		uint32_t location = p->frames[s->frame_first + i];
		const mw_location_t *l = &p->locations[location];
		for (uint32_t k = 0; k < mw_location_frames(l); k++) {
			const mw_line_t *line = mw_location_line(p, l, k);
			char *text = mw_frame_text(p, location, line, v->graph.granularity);
			frame_t frame = {text, line, k + 1 < l->line_count};
			see(v, &frame, context);
			free(text);
		}
	}
}

/* `context`: the text in front of the first frame. */
static void print_frame(const mw_view_t *v, const frame_t *frame, void *context) {
	const char **value = context;
	fprintf(v->out, "%10s   ", *value);
	const char *label =
		frame->is_inlined && mw_room_of(v->columns) != MW_ROOM_ONE ? " (inline)" : "";
	mw_view_name(v, frame->text, NAME_COLUMN + strlen(label));
	fprintf(v->out, "%s\n", label);
	*value = "";
}

static void print_frames(const mw_view_t *v, const mw_sample_t *s, const char *value) {
	each_frame(v, s, print_frame, &value);
	if (s->depth == 0)
		fprintf(v->out, "%10s   [stack unknown]\n", value);
}

static int64_t value_of(const mw_view_t *v, size_t sample) {
	const int64_t *values = mw_profile_values(v->profile, sample);
	bool is_mean = v->graph.is_mean && values[0] > 0;
	return is_mean ? values[v->type] / values[0] : values[v->type];
}

static void add_json_frame(const mw_view_t *v, const frame_t *frame, void *context) {
	const mw_profile_t *p = v->profile;
	const mw_line_t *line = frame->line;
	mw_json_t *j = context;
	mw_json_open(j, NULL, '{');
	mw_json_add_text(j, "name", frame->text);
	if (line != NULL && p->functions[line->function].file != 0)
		mw_json_add_text(j, "file",
				 mw_profile_string(p, p->functions[line->function].file));
	if (line != NULL && line->line > 0)
		mw_json_add_number(j, "line", line->line);
	mw_json_add_flag(j, "inline", frame->is_inlined);
	mw_json_close(j);
}

static void add_json_frames(mw_json_t *j, const mw_view_t *v, const mw_sample_t *s) {
	mw_json_open(j, "frames", '[');
	each_frame(v, s, add_json_frame, j);
	mw_json_close(j);
}

/* Stacks that are shown. */
typedef struct listed {
	struct entry {
		size_t sample;
		uint64_t size; /* the value without its sign */
	} * entries;
	size_t count, dropped;
} listed_t;

static int compare_sizes(const void *left, const void *right) {
	const struct entry *a = left, *b = right;
	if (a->size != b->size)
		return a->size < b->size ? 1 : -1;
	return (a->sample > b->sample) - (a->sample < b->sample);
}

/* Lists all stacks with a value, or with --top the largest, in that order. */
static listed_t list_stacks(const mw_view_t *v) {
	listed_t list = {.entries = mw_xcalloc(v->profile->sample_count, sizeof(*list.entries))};
	for (size_t i = 0; i < v->profile->sample_count; i++) {
		int64_t value = mw_profile_values(v->profile, i)[v->type];
		if (value != 0)
			list.entries[list.count++] =
				(struct entry){i, value < 0 ? -(uint64_t)value : (uint64_t)value};
	}
	if (v->stack_limit == 0)
		return list;
	qsort(list.entries, list.count, sizeof(*list.entries), compare_sizes);
	if (list.count > v->stack_limit) {
		list.dropped = list.count - v->stack_limit;
		list.count = v->stack_limit;
	}
	return list;
}

static void print_json(const mw_view_t *v, const listed_t *list) {
	mw_json_t j;
	mw_json_begin(&j, v);
	mw_json_add_number(&j, "dropped", (int64_t)list->dropped);
	mw_json_open(&j, "stacks", '[');
	for (size_t k = 0; k < list->count; k++) {
		size_t i = list->entries[k].sample;
		const mw_sample_t *s = &v->profile->samples[i];
		mw_json_open(&j, NULL, '{');
		mw_json_add_number(&j, "value", value_of(v, i));
		mw_json_add_labels(&j, v->profile, s);
		add_json_frames(&j, v, s);
		mw_json_close(&j);
	}
	mw_json_end(&j);
}

static void print_separator(const mw_view_t *v) {
	int length = (int)strlen(SEPARATOR);
	fprintf(v->out, "%.*s\n", v->columns > 0 && v->columns < length ? v->columns : length,
		SEPARATOR);
}

int mw_view_traces(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	const mw_profile_t *p = v->profile;
	const char *unit = mw_view_unit(v, NULL);
	char value[MW_VALUE_BYTES];
	listed_t list = list_stacks(v);
	if (v->json) {
		print_json(v, &list);
		free(list.entries);
		return 0;
	}
	mw_view_header(v, NULL, unit);
	for (size_t k = 0; k < list.count; k++) {
		size_t i = list.entries[k].sample;
		print_separator(v);
		mw_view_labels(v, &p->samples[i]);
		print_frames(v, &p->samples[i], mw_view_value(v, unit, value_of(v, i), value));
	}
	print_separator(v);
	if (list.dropped > 0)
		fprintf(v->out, "%zu smaller stacks are left out\n", list.dropped);
	free(list.entries);
	return 0;
}

/* Replaces ';', which separates functions, and newlines, which separate stacks. */
static void print_folded_name(FILE *out, const char *text) {
	char *copy = mw_text_clean(mw_xstrdup(text), "");
	for (char *at = copy; (at = strchr(at, ';')) != NULL; at++)
		*at = ':';
	fputs(copy, out);
	free(copy);
}

static void print_folded(const mw_view_t *v, FILE *out, const mw_sample_t *s) {
	const mw_profile_t *p = v->profile;
	const char *before = "";
	for (uint32_t i = s->depth; i > 0; i--) {
		uint32_t location = p->frames[s->frame_first + i - 1];
		const mw_location_t *l = &p->locations[location];
		for (uint32_t k = mw_location_frames(l); k > 0; k--) {
			const mw_line_t *line = mw_location_line(p, l, k - 1);
			char *text = mw_frame_text(p, location, line, v->graph.granularity);
			fputs(before, out);
			print_folded_name(out, text);
			before = ";";
			free(text);
		}
	}
	if (s->depth == 0)
		fputs("[stack unknown]", out);
}

/* Stacks with equal text.  Their addresses, sizes or threads may differ. */
typedef struct folded_stack {
	char *text;
	int64_t value;
} folded_stack_t;

typedef struct folded {
	folded_stack_t *stacks; /* stacks[0] is unused */
	size_t count, capacity;
	mw_table_t table;
} folded_t;

static bool folded_equal(const void *context, uint32_t entry, const void *key) {
	return strcmp(((const folded_t *)context)->stacks[entry].text, key) == 0;
}

/* Adds a stack.  Owns `text` from now on. */
static void add_folded(folded_t *f, char *text, size_t length, int64_t value) {
	uint64_t hash = mw_table_hash(text, length);
	uint32_t stack = mw_table_find(&f->table, hash, folded_equal, f, text);
	if (stack == 0) {
		f->stacks = mw_grow(f->stacks, &f->capacity, f->count + 1, sizeof(folded_stack_t));
		stack = (uint32_t)f->count++;
		f->stacks[stack] = (folded_stack_t){.text = text};
		mw_table_add(&f->table, hash, stack);
	} else {
		free(text);
	}
	int64_t *sum = &f->stacks[stack].value;
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

static int fold_all(const mw_view_t *v, folded_t *f, mw_error_t *error) {
	const mw_profile_t *p = v->profile;
	for (size_t i = 0; i < p->sample_count; i++) {
		char *text = NULL;
		size_t length = 0;
		int64_t value = mw_profile_values(p, i)[v->type];
		if (value == 0)
			continue;
		FILE *out = open_memstream(&text, &length);
		if (out == NULL)
			return mw_error_set(error, "collapsed: %s; try a smaller profile",
					    strerror(errno));
		print_folded(v, out, &p->samples[i]);
		fclose(out);
		add_folded(f, text, length, value);
	}
	return 0;
}

int mw_view_collapsed(const mw_view_t *v, mw_error_t *error) {
	folded_t f = {.count = 1};
	f.stacks = mw_grow(NULL, &f.capacity, 1, sizeof(folded_stack_t));
	int result = fold_all(v, &f, error);
	for (size_t i = 1; i < f.count; i++) {
		if (result == 0 && f.stacks[i].value != 0)
			fprintf(v->out, "%s %" PRId64 "\n", f.stacks[i].text, f.stacks[i].value);
		free(f.stacks[i].text);
	}
	free(f.stacks);
	mw_table_clear(&f.table);
	return result;
}
