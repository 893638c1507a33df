/* SPDX-License-Identifier: MIT
 * top.c -- flat and cumulative sums in pprof's columns, as a table and as a profile. */
#include <inttypes.h>
#include <string.h>

#include "report/text/names.h"
#include "report/text/style.h"
#include "view/common/json.h"
#include "view/common/values.h"
#include "view/common/view.h"
#include "view/table/births.h"
#include "view/table/tables.h"

/* Fewest columns of a terminal with room for "(partial-inline)". */
#define LABEL_COLUMNS 80
#define INLINE_BYTES sizeof(" (partial-inline)")

/* Whether all calls of the function were inlined, or some; "": none. */
static const char *inline_label(const mw_graph_t *g, const mw_node_t *n) {
	bool is_inline = false, is_called = false;
	for (size_t i = 0; i < n->in_count; i++) {
		bool edge = mw_graph_edge_at(g, n->in[i])->is_inline;
		is_inline |= edge;
		is_called |= !edge;
	}
	return !is_inline ? "" : is_called ? "partial-inline" : "inline";
}

/* Prints the columns before the name that fit.  Returns their width. */
static size_t print_numbers(const mw_view_t *v, const mw_node_t *n, int64_t sum, const char *unit) {
	char flat_text[MW_VALUE_BYTES], cum_text[MW_VALUE_BYTES], percent[3][MW_VALUE_BYTES];
	const char *flat = mw_view_value(v, unit, n->flat, flat_text);
	const char *cum = mw_view_value(v, unit, n->cum, cum_text);
	switch (mw_room_of(v->columns)) {
	case MW_ROOM_ONE:
		return (size_t)fprintf(v->out, "%10s  ", v->graph.sort_by_cum ? cum : flat);
	case MW_ROOM_TWO:
		return (size_t)fprintf(v->out, "%10s %10s  ", flat, cum);
	default:
		return (size_t)fprintf(v->out, "%10s %s %s %10s %s  ", flat,
				       mw_view_percent(n->flat, v->total, percent[0]),
				       mw_view_percent(sum, v->total, percent[1]), cum,
				       mw_view_percent(n->cum, v->total, percent[2]));
	}
}

static void print_heads(const mw_view_t *v) {
	fputs(mw_style(MW_STYLE_HEAD), v->out);
	switch (mw_room_of(v->columns)) {
	case MW_ROOM_ONE:
		fprintf(v->out, "%10s", v->graph.sort_by_cum ? "cum" : "flat");
		break;
	case MW_ROOM_TWO:
		fprintf(v->out, "%10s %10s", "flat", "cum");
		break;
	default:
		fprintf(v->out, "%10s %5s%% %5s%% %10s %5s%%", "flat", "flat", "sum", "cum", "cum");
	}
	fprintf(v->out, "%s\n", mw_style(MW_STYLE_PLAIN));
}

static void print_row(const mw_view_t *v, const mw_graph_t *g, const mw_node_t *n, int64_t sum,
		      const char *unit) {
	bool has_room = v->columns == 0 || v->columns >= LABEL_COLUMNS;
	char label[INLINE_BYTES] = "";
	if (has_room && *inline_label(g, n) != '\0')
		snprintf(label, sizeof(label), " (%s)", inline_label(g, n));
	fputs(mw_style(mw_style_of_share(n->flat, v->total)), v->out);
	size_t width = print_numbers(v, n, sum, unit);
	mw_view_name(v, n->text, width + strlen(label));
	fprintf(v->out, "%s%s\n", label, mw_style(MW_STYLE_PLAIN));
}

static void print_json(const mw_view_t *v, const mw_graph_t *g) {
	mw_json_t j;
	mw_births_t births = {0};
	if (v->has_births)
		mw_births_count(&births, v, g);
	mw_json_begin(&j, v);
	mw_json_add_number(&j, "dropped", (int64_t)mw_graph_dropped_nodes(g));
	mw_births_add_all(&births, &j);
	mw_json_open(&j, "rows", '[');
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		mw_json_open(&j, NULL, '{');
		mw_json_add_number(&j, "flat", n->flat);
		mw_json_add_number(&j, "cum", n->cum);
		mw_json_add_text(&j, "name", n->text);
		if (*inline_label(g, n) != '\0')
			mw_json_add_text(&j, "inline", inline_label(g, n));
		mw_births_add_row(&births, i, &j);
		mw_json_close(&j);
	}
	mw_json_end(&j);
}

int mw_view_top(const mw_view_t *v, mw_error_t *error) {
	if (v->is_jeprof && !v->json)
		return mw_view_jeprof(v, error);
	mw_graph_t *g = mw_graph_new(v->profile, &v->graph);
	const char *unit = mw_view_unit(v, g);
	if (v->json) {
		print_json(v, g);
		mw_graph_free(g);
		return 0;
	}
	mw_view_header(v, g, unit);
	print_heads(v);
	int64_t sum = 0;
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		if (__builtin_add_overflow(sum, n->flat, &sum))
			sum = INT64_MAX;
		print_row(v, g, n, sum, unit);
	}
	mw_graph_free(g);
	return 0;
}

mw_profile_t *mw_view_top_profile(const mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	const char *unit = mw_profile_string(p, p->types[v->type].unit);
	mw_graph_t *g = mw_graph_new(p, &v->graph);
	mw_profile_t *top = mw_profile_new();
	mw_profile_add_type(top, "cum", unit);
	top->default_type = (uint32_t)mw_profile_add_type(top, "flat", unit);
	top->time_ns = p->time_ns;
	top->duration_ns = p->duration_ns;
	top->period = p->period;
	top->period_type.type = mw_profile_intern(top, mw_profile_string(p, p->period_type.type));
	top->period_type.unit = mw_profile_intern(top, mw_profile_string(p, p->period_type.unit));
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		/* A function without a name gets its text in the table. */
		const char *name =
			n->name != 0 || n->file != 0 ? mw_profile_string(p, n->name) : n->text;
		mw_function_t function = {
			.name = mw_profile_intern(top, name),
			.system_name = mw_profile_intern(top, name),
			.file = mw_profile_intern(top, mw_profile_string(p, n->file))};
		mw_line_t line = {.function = mw_profile_add_function(top, &function),
				  .line = n->line};
		uint32_t location = mw_profile_append_location(top, 0, n->address, true);
		mw_profile_set_lines(top, location, &line, 1);
		const int64_t values[] = {n->cum, n->flat};
		mw_profile_add_sample(top, &location, 1, values, NULL, 0);
	}
	mw_graph_free(g);
	return top;
}
