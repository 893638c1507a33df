/* SPDX-License-Identifier: MIT
 * jeprof.c -- prints the table of functions as jeprof does. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/merge.h"
#include "model/text.h"
#include "report/text/names.h"
#include "report/text/pprof_units.h"
#include "view/common/view.h"
#include "view/select/selection.h"
#include "view/table/tables.h"

typedef struct scale {
	const char *unit;
	double divisor;
	int decimals;
} scale_t;

/* In jeprof, mega means 2^20, and times are in seconds. */
static scale_t scale_of(const mw_view_t *v) {
	const char *unit = mw_profile_string(v->profile, v->profile->types[v->type].unit);
	const char *type = mw_profile_string(v->profile, v->profile->types[v->type].type);
	const double size = mw_unit_size(unit);
	if (mw_units_of(unit) == mw_units_of("bytes"))
		return v->unit != NULL && strcmp(v->unit, "B") == 0
			       ? (scale_t){"B", 1 / size, 0}
			       : (scale_t){"MB", 0x1p20 / size, 1};
	if (mw_units_of(unit) == mw_units_of("nanoseconds"))
		return (scale_t){"seconds", 1e9 / size, 3};
	return (scale_t){strstr(type, "objects") != NULL ? "objects" : "samples", 1, 0};
}

static int compare(const void *left, const void *right, void *context) {
	const mw_view_t *v = context;
	const mw_node_t *a = *(const mw_node_t *const *)left, *b = *(const mw_node_t *const *)right;
	int64_t x = v->graph.sort_by_cum ? a->cum : a->flat;
	int64_t y = v->graph.sort_by_cum ? b->cum : b->flat;
	if (x != y)
		return x < y ? 1 : -1;
	return strcmp(a->text, b->text);
}

static void print_share(FILE *out, double part, double whole) {
	char text[32] = "nan";
	if (whole > 0 || whole < 0)
		snprintf(text, sizeof(text), "%.1f%%", part * 100 / whole);
	else if (part > 0 || part < 0)
		snprintf(text, sizeof(text), "%s", part > 0 ? "+inf" : "-inf");
	fprintf(out, " %6s", text);
}

/* Prints the table of a profile; `sum_of_all` is its total.  `thread` NULL: all threads. */
static void print_table(const mw_view_t *v, const mw_profile_t *p, int64_t sum_of_all,
			const char *thread) {
	mw_graph_t *g = mw_graph_new(p, &v->graph);
	scale_t scale = scale_of(v);
	size_t count = mw_graph_count(g);
	const mw_node_t **nodes = mw_xcalloc(count, sizeof(const mw_node_t *));
	double total = 0, sum = 0;
	for (size_t i = 0; i < count; i++) {
		nodes[i] = mw_graph_node(g, i);
		total += (double)nodes[i]->flat;
	}
	mw_view_t context = *v;
	qsort_r(nodes, count, sizeof(const mw_node_t *), compare, &context);
	fputs("Total", v->out);
	if (thread != NULL) {
		fputs(" (t", v->out);
		mw_text_print(v->out, thread);
		fputc(')', v->out);
	}
	fprintf(v->out, ": %.*f %s\n", scale.decimals, (double)sum_of_all / scale.divisor,
		scale.unit);
	for (size_t i = 0; i < count; i++) {
		double flat = (double)nodes[i]->flat, cum = (double)nodes[i]->cum;
		sum += flat;
		fprintf(v->out, "%8.*f", scale.decimals, flat / scale.divisor);
		print_share(v->out, flat, total);
		print_share(v->out, sum, total);
		fprintf(v->out, " %8.*f", scale.decimals, cum / scale.divisor);
		print_share(v->out, cum, total);
		fputc(' ', v->out);
		mw_text_print(v->out, nodes[i]->text);
		fputc('\n', v->out);
	}
	free(nodes);
	mw_graph_free(g);
}

static int compare_ids(const void *left, const void *right) {
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
	return a < b ? -1 : a > b;
}

/* Returns the threads of the samples in ascending order; the caller frees the list. */
static int64_t *find_threads(const mw_profile_t *p, size_t *count) {
	int64_t *ids = NULL;
	size_t capacity = 0, all = 0;
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_sample_t *s = &p->samples[i];
		for (uint32_t k = 0; k < s->label_count; k++) {
			const mw_label_t *label = &p->labels[s->label_first + k];
			if (strcmp(mw_profile_string(p, label->key), MW_LABEL_THREAD_ID) != 0)
				continue;
			ids = mw_grow(ids, &capacity, all + 1, sizeof(*ids));
			ids[all++] = label->number;
		}
	}
	if (all > 1)
		qsort(ids, all, sizeof(*ids), compare_ids);
	*count = 0;
	for (size_t i = 0; i < all; i++)
		if (*count == 0 || ids[*count - 1] != ids[i])
			ids[(*count)++] = ids[i];
	return ids;
}

/* `jeprof --thread=*` prints a table for each thread. */
static int print_threads(const mw_view_t *v, mw_error_t *error) {
	size_t count;
	int64_t *ids = find_threads(v->profile, &count);
	int result = 0;
	for (size_t i = 0; i < count && result == 0; i++) {
		char name[32];
		snprintf(name, sizeof(name), "%" PRId64, ids[i]);
		const mw_selection_t selection = {.thread = name};
		mw_profile_t *p = mw_profile_copy(v->profile);
		result = mw_selection_apply(p, &selection, error);
		if (result == 0)
			print_table(v, p, mw_profile_total(p, v->type), name);
		mw_profile_free(p);
	}
	free(ids);
	return result;
}

int mw_view_jeprof(const mw_view_t *v, mw_error_t *error) {
	if (v->thread != NULL && strcmp(v->thread, "*") == 0)
		return print_threads(v, error);
	print_table(v, v->profile, v->sum, v->thread);
	return 0;
}
