/* SPDX-License-Identifier: MIT
 * dot.c -- `graph`: the call graph for graphviz.  Boxes grow with flat, lines with what went over
 * them; red is much. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/names.h"
#include "view/json.h"
#include "view/show.h"
#include "view/view.h"

/* Names are read at a glance up to here. */
#define NAME_COLUMNS 48

static void print_quoted(FILE *out, const char *text) {
	while (*text != '\0') {
		unsigned char c = (unsigned char)*text;
		size_t length = mw_utf8_length(text);
		if (c == '"' || c == '\\')
			fputc('\\', out);
		if (c < ' ' || c == 0x7f || length == 0)
			fputc('?', out);
		else
			fwrite(text, 1, length, out);
		text += length > 0 ? length : 1;
	}
}

/* From light grey to red by the share; what shrank is green. */
static void print_colour(FILE *out, const char *name, double share, double depth) {
	double strength = pow(fmin(1, fabs(share)), 0.5) * depth;
	int weak = (int)(238 * (1 - strength)), strong = (int)(238 - 30 * strength);
	fprintf(out, "%s=\"#%02x%02x%02x\"", name, share < 0 ? weak : strong,
		share < 0 ? strong : weak, weak);
}

static void print_node(const mw_view_t *v, const mw_node_t *n, uint32_t number, const char *unit) {
	char flat[MW_VALUE_BYTES], cum[MW_VALUE_BYTES], percent[2][MW_VALUE_BYTES], name[1024];
	double total = v->total != 0 ? (double)v->total : 1;
	double flat_share = fabs((double)n->flat / total), cum_share = (double)n->cum / total;
	mw_fit_name(n->text, NAME_COLUMNS, name, sizeof(name));
	fprintf(v->out, "N%" PRIu32 " [label=\"", number);
	print_quoted(v->out, name);
	const char *share = mw_view_percent(n->flat, v->total, percent[0]);
	share += strspn(share, " ");
	if (n->flat == 0)
		fputs("\\n0", v->out);
	else
		fprintf(v->out, "\\n%s (%s)", mw_view_value(v, unit, n->flat, flat), share);
	share = mw_view_percent(n->cum, v->total, percent[1]);
	share += strspn(share, " ");
	if (n->cum != n->flat)
		fprintf(v->out, "%sof %s (%s)", n->flat == 0 ? " " : "\\n",
			mw_view_value(v, unit, n->cum, cum), share);
	fprintf(v->out, "\" tooltip=\"");
	print_quoted(v->out, n->text);
	/* 8 points where nothing is held, 24 where everything is. */
	fprintf(v->out, "\" fontsize=%.0f ", 8 + 16 * sqrt(fmin(1, flat_share)));
	print_colour(v->out, "color", cum_share, 0.9);
	fputc(' ', v->out);
	print_colour(v->out, "fillcolor", cum_share, 0.25);
	fputs("]\n", v->out);
}

static void print_edge(const mw_view_t *v, const mw_edge_t *e, const char *unit) {
	char value[MW_VALUE_BYTES];
	double share = v->total != 0 ? (double)e->weight / (double)v->total : 0;
	fprintf(v->out, "N%" PRIu32 " -> N%" PRIu32 " [label=\" %s%s\" weight=%d penwidth=%.1f %s",
		e->caller, e->callee, mw_view_value(v, unit, e->weight, value),
		e->is_inline ? "\\n (inline)" : "", 1 + (int)fmin(100, fabs(share) * 100),
		1 + fmin(5, fabs(share) * 5), e->is_residual ? "style=dotted " : "");
	print_colour(v->out, "color", share, 0.9);
	fputs("]\n", v->out);
}

static void print_json(const mw_view_t *v, const mw_graph_t *g) {
	mw_json_t j;
	mw_json_begin(&j, v);
	mw_json_add_number(&j, "dropped", (int64_t)mw_graph_dropped_nodes(g));
	mw_json_open(&j, "nodes", '[');
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		mw_json_open(&j, NULL, '{');
		mw_json_add_number(&j, "id", n - mw_graph_node_at(g, 0));
		mw_json_add_number(&j, "flat", n->flat);
		mw_json_add_number(&j, "cum", n->cum);
		mw_json_add_text(&j, "name", n->text);
		mw_json_close(&j);
	}
	mw_json_close(&j);
	mw_json_open(&j, "edges", '[');
	for (size_t i = 1; i < mw_graph_edge_end(g); i++) {
		const mw_edge_t *e = mw_graph_edge_at(g, i);
		if (e->is_dropped)
			continue;
		mw_json_open(&j, NULL, '{');
		mw_json_add_number(&j, "caller", e->caller);
		mw_json_add_number(&j, "callee", e->callee);
		mw_json_add_number(&j, "weight", e->weight);
		mw_json_add_flag(&j, "inline", e->is_inline);
		mw_json_add_flag(&j, "residual", e->is_residual);
		mw_json_close(&j);
	}
	mw_json_end(&j);
}

static void print_graph(const mw_view_t *v, const mw_graph_t *g) {
	const char *unit = mw_view_unit(v, g);
	const mw_profile_t *p = v->profile;
	char total[MW_VALUE_BYTES];
	fputs("digraph \"", v->out);
	print_quoted(v->out, mw_profile_string(p, p->origin.program));
	fputs("\" {\nnode [shape=box style=filled fontname=\"DejaVu Sans,Helvetica,sans-serif\"]\n"
	      "edge [fontname=\"DejaVu Sans,Helvetica,sans-serif\" fontsize=10]\n"
	      "label=\"",
	      v->out);
	print_quoted(v->out, mw_profile_string(p, p->origin.program));
	fprintf(v->out,
		"  %s  %s total  %zu of %zu nodes\" labelloc=t labeljust=l "
		"fontname=\"DejaVu Sans,Helvetica,sans-serif\"\n",
		mw_profile_string(p, p->types[v->type].type),
		mw_view_value(v, unit, v->total, total), mw_graph_count(g),
		mw_graph_original_count(g) + mw_graph_dropped_nodes(g));
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		print_node(v, n, (uint32_t)(n - mw_graph_node_at(g, 0)), unit);
	}
	for (size_t i = 1; i < mw_graph_edge_end(g); i++)
		if (!mw_graph_edge_at(g, i)->is_dropped)
			print_edge(v, mw_graph_edge_at(g, i), unit);
	fputs("}\n", v->out);
}

int mw_view_dot(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	mw_graph_t *g = mw_graph_new(v->profile, &v->graph);
	if (v->json)
		print_json(v, g);
	else
		print_graph(v, g);
	mw_graph_free(g);
	return 0;
}
