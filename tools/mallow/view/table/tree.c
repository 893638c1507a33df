/* SPDX-License-Identifier: MIT
 * tree.c -- each node with its callers and callees; `peek` prints the matching nodes. */
#include <inttypes.h>
#include <string.h>

#include "view/common/json.h"
#include "view/common/values.h"
#include "view/common/view.h"
#include "view/select/pattern.h"
#include "view/table/tables.h"

/* First column of names after the bar: pprof's column, and the column below cum that leaves room
 * for names on a terminal of 80 columns. */
#define NAME_COLUMN 60
#define COMPACT_NAME_COLUMN 45
#define COMPACT_BELOW 110
/* Fewest columns of a name.  Narrower terminals get another layout. */
#define NAME_WIDTH_MIN 16
/* Fewest columns with room for "(inline)". */
#define LABEL_COLUMNS 90
#define SEPARATOR "----------------------------------------------------------+-------------\n"
#define COMPACT_SEPARATOR "-------------------------------------------+-------------\n"

static bool is_compact(const mw_view_t *v) {
	return v->columns > 0 && v->columns < COMPACT_BELOW;
}

static const char *separator(const mw_view_t *v) {
	return is_compact(v) ? COMPACT_SEPARATOR : SEPARATOR;
}

static size_t name_column(const mw_view_t *v) {
	return is_compact(v) ? COMPACT_NAME_COLUMN : NAME_COLUMN;
}

static void print_edge(const mw_view_t *v, const mw_graph_t *g, const mw_edge_t *e,
		       const mw_node_t *n, const char *unit) {
	char value[MW_VALUE_BYTES], percent[MW_VALUE_BYTES];
	bool is_caller = mw_graph_node_at(g, e->callee) == n;
	fprintf(v->out, "%*s %s |   ", is_compact(v) ? 35 : 50,
		mw_view_value(v, unit, e->weight, value),
		mw_view_percent(e->weight, n->cum, percent));
	bool has_room = v->columns == 0 || v->columns >= LABEL_COLUMNS;
	const char *label = e->is_inline && has_room ? " (inline)" : "";
	mw_view_name(v, mw_graph_node_at(g, is_caller ? e->caller : e->callee)->text,
		     name_column(v) + 2 + strlen(label));
	fprintf(v->out, "%s\n", label);
}

static void print_node(const mw_view_t *v, const mw_graph_t *g, const mw_node_t *n, int64_t sum,
		       const char *unit) {
	char flat[MW_VALUE_BYTES], cum[MW_VALUE_BYTES], percent[3][MW_VALUE_BYTES];
	fputs(separator(v), v->out);
	for (size_t i = 0; i < n->in_count; i++)
		print_edge(v, g, mw_graph_edge_at(g, n->in[i]), n, unit);
	fprintf(v->out, "%10s %s %s %10s %s%*s | ", mw_view_value(v, unit, n->flat, flat),
		mw_view_percent(n->flat, v->total, percent[0]),
		mw_view_percent(sum, v->total, percent[1]), mw_view_value(v, unit, n->cum, cum),
		mw_view_percent(n->cum, v->total, percent[2]), is_compact(v) ? 0 : 15, "");
	mw_view_name(v, n->text, name_column(v));
	fputc('\n', v->out);
	for (size_t i = 0; i < n->out_count; i++)
		print_edge(v, g, mw_graph_edge_at(g, n->out[i]), n, unit);
}

/* Prints one value and a name, where pprof's columns do not fit: the value of an edge, or the
 * node's cumulative value. */
static void print_narrow_line(const mw_view_t *v, int64_t value, const char *mark, const char *name,
			      const char *unit) {
	char text[MW_VALUE_BYTES];
	int used = fprintf(v->out, "%10s %s ", mw_view_value(v, unit, value, text), mark);
	mw_view_name(v, name, (size_t)used);
	fputc('\n', v->out);
}

static void print_narrow(const mw_view_t *v, const mw_graph_t *g, const mw_node_t *n,
			 const char *unit) {
	for (int i = 0; i < v->columns; i++)
		fputc('-', v->out);
	fputc('\n', v->out);
	for (size_t i = 0; i < n->in_count; i++) {
		const mw_edge_t *e = mw_graph_edge_at(g, n->in[i]);
		print_narrow_line(v, e->weight, "<", mw_graph_node_at(g, e->caller)->text, unit);
	}
	print_narrow_line(v, n->cum, "=", n->text, unit);
	for (size_t i = 0; i < n->out_count; i++) {
		const mw_edge_t *e = mw_graph_edge_at(g, n->out[i]);
		print_narrow_line(v, e->weight, ">", mw_graph_node_at(g, e->callee)->text, unit);
	}
}

static bool is_narrow(const mw_view_t *v) {
	return v->columns > 0 && v->columns < COMPACT_NAME_COLUMN + 2 + NAME_WIDTH_MIN;
}

static void print_columns(const mw_view_t *v) {
	if (is_narrow(v))
		fputs("       cum\n", v->out);
	else if (is_compact(v))
		fputs(COMPACT_SEPARATOR "      flat  flat%   sum%        cum   cum% + context\n",
		      v->out);
	else
		fputs(SEPARATOR "      flat  flat%   sum%        cum   cum%   calls "
				"calls% + context\n",
		      v->out);
}

static void print_json_edges(mw_json_t *j, const mw_graph_t *g, const mw_node_t *n, bool callers) {
	size_t count = callers ? n->in_count : n->out_count;
	mw_json_open(j, callers ? "callers" : "callees", '[');
	for (size_t i = 0; i < count; i++) {
		const mw_edge_t *e = mw_graph_edge_at(g, callers ? n->in[i] : n->out[i]);
		mw_json_open(j, NULL, '{');
		mw_json_add_number(j, "value", e->weight);
		mw_json_add_text(j, "name",
				 mw_graph_node_at(g, callers ? e->caller : e->callee)->text);
		mw_json_close(j);
	}
	mw_json_close(j);
}

static void print_json_node(mw_json_t *j, const mw_graph_t *g, const mw_node_t *n) {
	mw_json_open(j, NULL, '{');
	mw_json_add_number(j, "flat", n->flat);
	mw_json_add_number(j, "cum", n->cum);
	mw_json_add_text(j, "name", n->text);
	print_json_edges(j, g, n, true);
	print_json_edges(j, g, n, false);
	mw_json_close(j);
}

static int print(const mw_view_t *v, const mw_pattern_t *pattern, mw_error_t *error) {
	mw_graph_t *g = mw_graph_new(v->profile, &v->graph);
	const char *unit = mw_view_unit(v, g);
	mw_json_t j;
	int64_t sum = 0;
	size_t matched = 0;
	if (v->json) {
		mw_json_begin(&j, v);
		mw_json_open(&j, "nodes", '[');
	} else {
		mw_view_header(v, g, unit);
		print_columns(v);
	}
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		if (pattern != NULL && !mw_pattern_matches(pattern, n->text))
			continue;
		if (__builtin_add_overflow(sum, n->flat, &sum))
			sum = INT64_MAX;
		if (v->json)
			print_json_node(&j, g, n);
		else if (is_narrow(v))
			print_narrow(v, g, n, unit);
		else
			print_node(v, g, n, sum, unit);
		matched++;
	}
	if (v->json)
		mw_json_end(&j);
	else if (!is_narrow(v) && matched > 0)
		fputs(separator(v), v->out);
	mw_graph_free(g);
	if (matched == 0 && pattern != NULL)
		return mw_error_set(error,
				    "no function in this profile matches '%s'; 'mallow top' lists "
				    "the functions",
				    v->pattern);
	return 0;
}

int mw_view_tree(const mw_view_t *v, mw_error_t *error) {
	return print(v, NULL, error);
}

int mw_view_peek(const mw_view_t *v, mw_error_t *error) {
	mw_pattern_t *pattern;
	if (mw_pattern_make("peek", v->pattern, &pattern, error) != 0)
		return -1;
	int result = print(v, pattern, error);
	mw_pattern_free(pattern);
	return result;
}
