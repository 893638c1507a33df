/* SPDX-License-Identifier: MIT
 * jeprof.c -- the table of functions as jeprof prints it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "report/names.h"
#include "view/view.h"

typedef struct scale {
	const char *unit;
	double divisor;
	int decimals;
} scale_t;

/* Mega means 2^20 to jeprof; times are in seconds. */
static scale_t scale_of(const mw_view_t *v) {
	const char *unit = mw_profile_string(v->profile, v->profile->types[v->type].unit);
	const char *type = mw_profile_string(v->profile, v->profile->types[v->type].type);
	if (strcmp(unit, "bytes") == 0)
		return v->unit != NULL && strcmp(v->unit, "B") == 0 ? (scale_t){"B", 1, 0}
								    : (scale_t){"MB", 0x1p20, 1};
	if (strcmp(unit, "nanoseconds") == 0)
		return (scale_t){"seconds", 1e9, 3};
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

int mw_view_jeprof(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	mw_graph_t *g = mw_graph_new(v->profile, &v->graph);
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
	fprintf(v->out, "Total: %.*f %s\n", scale.decimals, (double)v->sum / scale.divisor,
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
		mw_print_clean(v->out, nodes[i]->text);
		fputc('\n', v->out);
	}
	free(nodes);
	mw_graph_free(g);
	return 0;
}
