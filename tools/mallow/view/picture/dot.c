/* SPDX-License-Identifier: MIT
 * dot.c -- `graph`: the call graph for graphviz.
 * The size of a box shows its flat value, the width of a line the value of its calls.  Red is
 * large; green is negative.  Sizes, widths and colours are pprof's. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/text.h"
#include "report/text/names.h"
#include "view/common/json.h"
#include "view/common/values.h"
#include "view/common/view.h"
#include "view/graph/graph_chains.h"
#include "view/picture/pictures.h"

/* Longest line of a name in a box. */
#define NAME_COLUMNS 48
/* Most names of a chain in a box, from its beginning, and from its end. */
#define CHAIN_NAMES 4u
/* Longest line of a label in a box. */
#define TAG_COLUMNS 32

#define FONT "fontname=\"DejaVu Sans,Helvetica,sans-serif\""

/* State that the functions below share. */
typedef struct picture {
	const mw_view_t *view;
	const mw_graph_t *graph;
	const char *unit;
	int64_t largest;  /* largest flat value */
	uint32_t *number; /* number[i]: number in the picture of node i */
	bool *has_boxes;  /* has_boxes[i]: node i has boxes of labels */
	mw_chains_t chains;
} picture_t;

/* Writes text escaped for graphviz; `newline` is its escape for the end of a line. */
static void print_escaped(FILE *out, const char *text, size_t length, const char *newline) {
	const char *end = text + length;
	while (text < end) {
		mw_character_t c = mw_text_character(text);
		if (c.code == '"' || c.code == '\\')
			fputc('\\', out);
		if (c.code == '\n')
			fputs(newline, out);
		else if (c.is_control || !c.is_utf8)
			fputc('?', out);
		else
			fwrite(text, 1, c.bytes, out);
		text += c.bytes;
	}
}

static void print_quoted(FILE *out, const char *text) {
	print_escaped(out, text, strlen(text), "\\n");
}

/* Returns the length of a name's first part: "std::" of "std::map<a::b>::find".  Text within
 * brackets is not divided. */
static size_t part_of_name(const char *name) {
	int depth = 0;
	for (size_t i = 0; name[i] != '\0'; i++) {
		depth += (name[i] == '<' || name[i] == '(') - (name[i] == '>' || name[i] == ')');
		if (depth <= 0 && i > 0 && name[i] == ':' && name[i + 1] == ':' &&
		    name[i + 2] != '\0')
			return i + 2;
	}
	return strlen(name);
}

/* Writes a name with one namespace on each line, because narrow boxes make a readable picture. */
static void print_name(FILE *out, const char *name) {
	char fitted[1024];
	mw_fit_name(name, NAME_COLUMNS, fitted, sizeof(fitted));
	for (const char *part = fitted; *part != '\0'; part += part_of_name(part)) {
		print_escaped(out, part, part_of_name(part), "");
		fputs("\\n", out);
	}
}

static void print_node_name(const picture_t *pic, const mw_node_t *n) {
	FILE *out = pic->view->out;
	const mw_profile_t *p = pic->view->profile;
	const char *file = mw_profile_string(p, n->file), *slash = strrchr(file, '/');
	if (n->name == 0 && n->file == 0) {
		print_name(out, n->text);
		return;
	}
	if (n->address != 0)
		fprintf(out, "%016" PRIx64 "\\n", n->address);
	if (n->name != 0)
		print_name(out, mw_profile_string(p, n->name));
	if (n->file == 0 && n->line == 0)
		return;
	print_quoted(out, slash != NULL ? slash + 1 : file);
	if (n->line != 0)
		fprintf(out, ":%" PRId64, n->line);
	fputs("\\n", out);
}

static size_t chain_length(const picture_t *pic, uint32_t first) {
	size_t length = 0;
	for (uint32_t i = first; i != 0; i = pic->chains.next[i])
		length++;
	return length;
}

/* Writes the names of the chain that ends in the node, the caller first, each in a line. */
static void print_chain_names(const picture_t *pic, uint32_t first) {
	FILE *out = pic->view->out;
	size_t length = chain_length(pic, first), i = 0;
	for (uint32_t at = first; at != 0; at = pic->chains.next[at], i++) {
		bool is_left_out = i >= CHAIN_NAMES && i + CHAIN_NAMES < length;
		char fitted[1024];
		if (is_left_out && i == CHAIN_NAMES)
			fprintf(out, "\342\200\246 %zu more \342\200\246\\n",
				length - 2 * CHAIN_NAMES);
		if (is_left_out)
			continue;
		mw_fit_name(mw_graph_node_at(pic->graph, at)->text, NAME_COLUMNS, fitted,
			    sizeof(fitted));
		print_quoted(out, fitted);
		/* PostScript has it, too: a character of Latin 1. */
		fputs(i + 1 < length ? " \302\273\\n" : "\\n", out);
	}
}

/* Writes a colour.  `share` moves its hue from grey over orange to red, and to green for
 * negative values. */
static void print_colour(FILE *out, const char *name, double share, double bright,
			 double saturation) {
	double strength = fmin(1, fabs(share));
	/* Small shares are grey rather than yellow.  Above that, the hue distinguishes small
	 * shares best. */
	saturation *= fmin(1, strength / 0.2);
	double high = bright * 255, low = high * (1 - saturation * pow(strength, 0.3));
	fprintf(out, "%s=\"#%02x%02x%02x\"", name, (unsigned)(share < 0 ? low : high),
		(unsigned)(share < 0 ? high : low), (unsigned)(high * (1 - saturation)));
}

static void print_line_colour(FILE *out, double share) {
	print_colour(out, "color", share, 0.7, 1);
}

static double share_of(const picture_t *pic, int64_t value) {
	return pic->view->total != 0 ? (double)value / fabs((double)pic->view->total) : 0;
}

/* The smallest letters in points: pprof's, or those that can be read on a screen. */
static int least_font(const picture_t *pic) {
	return pic->view->graph.is_drawn ? 12 : 8;
}

/* Font size of a function: 24 for the largest value. */
static int font_size(const picture_t *pic, const mw_node_t *n) {
	int least = least_font(pic);
	double part = pic->largest != 0 ? fabs((double)n->flat / (double)pic->largest) : 0;
	return least + (int)ceil((24 - least) * sqrt(part));
}

/* Returns the first node of the chain that the node is in. */
static uint32_t chain_begin(const picture_t *pic, uint32_t node) {
	while (pic->chains.previous[node] != 0)
		node = pic->chains.previous[node];
	return node;
}

static void print_node(const picture_t *pic, const mw_node_t *n, uint32_t number) {
	const mw_view_t *v = pic->view;
	char flat[MW_VALUE_BYTES], cum[MW_VALUE_BYTES], percent[MW_VALUE_BYTES];
	fprintf(v->out, "N%" PRIu32 " [label=\"", number);
	uint32_t at = (uint32_t)(n - mw_graph_node_at(pic->graph, 0));
	if (pic->chains.previous[at] != 0)
		print_chain_names(pic, chain_begin(pic, at));
	else
		print_node_name(pic, n);
	const char *share = mw_view_percent(n->flat, v->total, percent);
	share += strspn(share, " ");
	const char *of = n->flat != 0        ? "\\nof "
			 : v->graph.is_drawn ? "" /* "0 of" tells nothing */
					     : "0 of ";
	if (n->flat == 0 && n->cum == 0)
		fputs("0", v->out);
	else if (n->flat != 0)
		fprintf(v->out, "%s (%s)", mw_view_value(v, pic->unit, n->flat, flat), share);
	const char *whole = mw_view_value(v, pic->unit, n->cum, cum);
	share = mw_view_percent(n->cum, v->total, percent);
	share += strspn(share, " ");
	if (n->cum != n->flat)
		fprintf(v->out, "%s%s (%s)", of, whole, share);
	fprintf(v->out, "\" id=\"node%" PRIu32 "\" fontsize=%d tooltip=\"", number,
		font_size(pic, n));
	print_quoted(v->out, n->text);
	fprintf(v->out, " (%s)\" ", whole);
	print_line_colour(v->out, share_of(pic, n->cum));
	fputc(' ', v->out);
	print_colour(v->out, "fillcolor", share_of(pic, n->cum), 0.93, 0.1);
	fputs("]\n", v->out);
}

static void print_tag_text(FILE *out, const char *text) {
	while (*text != '\0') {
		char line[256], fitted[256];
		size_t length = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)length, text);
		mw_fit_name(line, TAG_COLUMNS, fitted, sizeof(fitted));
		print_quoted(out, fitted);
		text += length + (text[length] == '\n');
		fputs(*text != '\0' ? "\\n" : "", out);
	}
}

/* Writes boxes with the labels of a node's stacks.  Returns whether there are any. */
static bool print_boxes(const picture_t *pic, const mw_node_t *n, uint32_t number) {
	const mw_view_t *v = pic->view;
	mw_box_t boxes[MW_BOXES_MAX];
	size_t count = mw_graph_boxes(pic->graph, n, boxes);
	for (size_t i = 0; i < count; i++) {
		char value[MW_VALUE_BYTES];
		const mw_box_t *box = &boxes[i];
		const char *shown = mw_view_value(v, pic->unit, box->value, value);
		fprintf(v->out, "N%" PRIu32 "_%zu [label=\"", number, i);
		print_tag_text(v->out, box->text);
		fprintf(v->out, "\" id=\"N%" PRIu32 "_%zu\" fontsize=%d shape=box3d tooltip=\"",
			number, i, least_font(pic));
		print_quoted(v->out, box->text);
		fprintf(v->out, " (%s)\"]\nN%" PRIu32, shown, number);
		if (box->on > 0)
			fprintf(v->out, "_%zu", box->on - 1);
		fprintf(v->out,
			" -> N%" PRIu32 "_%zu [label=\" %s\" weight=100 tooltip=\"%s\" "
			"labeltooltip=\"%s\"%s]\n",
			number, i, shown, shown, shown, box->is_bridge ? " style=\"dotted\"" : "");
	}
	return count > 0;
}

static void print_edge_tip(const picture_t *pic, const mw_edge_t *e, const char *name,
			   const char *value) {
	FILE *out = pic->view->out;
	fprintf(out, " %s=\"", name);
	print_quoted(out, mw_graph_node_at(pic->graph, e->caller)->text);
	fputs(e->is_residual ? " ... " : " -> ", out);
	print_quoted(out, mw_graph_node_at(pic->graph, e->callee)->text);
	fprintf(out, " (%s)\"", value);
}

/* Shares above 1 occur in differences. */
static void print_edge(const picture_t *pic, const mw_edge_t *e) {
	const mw_view_t *v = pic->view;
	char buffer[MW_VALUE_BYTES];
	double total = fabs((double)v->total), weight = fabs((double)e->weight);
	int percent = total > 0 ? (int)fmin(100, weight * 100 / total) : 0;
	int twentieths = total > 0 ? (int)fmin(5, weight * 5 / total) : 0;
	const char *value = mw_view_value(v, pic->unit, e->weight, buffer);
	fprintf(v->out, "N%" PRIu32 " -> N%" PRIu32 " [label=\" %s%s\"", pic->number[e->caller],
		pic->number[e->callee], value, e->is_inline ? "\\n (inline)" : "");
	if (percent > 0)
		fprintf(v->out, " weight=%d", 1 + percent);
	if (twentieths > 0)
		fprintf(v->out, " penwidth=%d", 1 + twentieths);
	fputc(' ', v->out);
	print_line_colour(v->out, share_of(pic, e->weight));
	print_edge_tip(pic, e, "tooltip", value);
	print_edge_tip(pic, e, "labeltooltip", value);
	fprintf(v->out, "%s%s]\n", e->is_residual ? " style=\"dotted\"" : "",
		/* Leaves room for the boxes. */
		pic->has_boxes[e->caller] ? " minlen=2" : "");
}

/* Writes the boxes to JSON. A box that divides another follows it, and "on" has the other's
 * index. */
static void add_boxes(mw_json_t *j, const mw_graph_t *g, const mw_node_t *n) {
	mw_box_t boxes[MW_BOXES_MAX];
	size_t count = mw_graph_boxes(g, n, boxes);
	if (count == 0)
		return;
	mw_json_open(j, "boxes", '[');
	for (size_t i = 0; i < count; i++) {
		mw_json_open(j, NULL, '{');
		mw_json_add_text(j, "text", boxes[i].text);
		mw_json_add_number(j, "value", boxes[i].value);
		if (boxes[i].on > 0)
			mw_json_add_number(j, "on", (int64_t)boxes[i].on - 1);
		mw_json_close(j);
	}
	mw_json_close(j);
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
		add_boxes(&j, g, n);
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
		mw_json_add_number(&j, "value", e->weight);
		mw_json_add_flag(&j, "inline", e->is_inline);
		mw_json_add_flag(&j, "residual", e->is_residual);
		mw_json_close(&j);
	}
	mw_json_end(&j);
}

/* Writes the header of tables as a box. */
static void print_legend(const picture_t *pic) {
	char *text;
	size_t length;
	FILE *out = pic->view->out;
	mw_view_t copy = *pic->view;
	copy.columns = 0;
	copy.no_header = false;
	copy.out = open_memstream(&text, &length);
	if (copy.out == NULL)
		return;
	mw_view_header(&copy, pic->graph, pic->unit);
	fclose(copy.out);
	fputs("subgraph cluster_L { legend [shape=box fontsize=16 label=\"", out);
	print_escaped(out, text, length, "\\l");
	fputs("\" tooltip=\"", out);
	print_quoted(out, mw_profile_string(copy.profile, copy.profile->origin.program));
	fputs("\"] }\n", out);
	free(text);
}

static void print_picture(picture_t *pic) {
	const mw_view_t *v = pic->view;
	const mw_graph_t *g = pic->graph;
	fputs("digraph \"", v->out);
	print_quoted(v->out, mw_profile_string(v->profile, v->profile->origin.program));
	fputs("\" {\nnode [shape=box style=filled fillcolor=\"#f8f8f8\" " FONT "]\n"
	      "edge [" FONT "]\n",
	      v->out);
	print_legend(pic);
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		size_t at = (size_t)(n - mw_graph_node_at(g, 0));
		/* The box of a chain is that of its last node. */
		for (uint32_t k = (uint32_t)at; pic->chains.next[at] == 0 && k != 0;
		     k = pic->chains.previous[k])
			pic->number[k] = (uint32_t)i + 1;
		if (pic->chains.next[at] != 0)
			continue;
		print_node(pic, n, pic->number[at]);
		pic->has_boxes[at] = print_boxes(pic, n, pic->number[at]);
	}
	/* The heaviest edge comes first, because graphviz keeps that straight. */
	size_t count, *edges = mw_graph_edges(g, &count);
	for (size_t i = 0; i < count; i++) {
		const mw_edge_t *e = mw_graph_edge_at(g, edges[i]);
		if (pic->chains.next[e->caller] != e->callee)
			print_edge(pic, e);
	}
	free(edges);
	fputs("}\n", v->out);
}

static void print_graph(const mw_view_t *v, const mw_graph_t *g) {
	picture_t pic = {.view = v, .graph = g, .unit = mw_view_unit(v, g)};
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		int64_t flat = mw_graph_node(g, i)->flat;
		if (fabs((double)flat) > fabs((double)pic.largest))
			pic.largest = flat;
	}
	pic.number = mw_xcalloc(mw_graph_node_end(g), sizeof(*pic.number));
	pic.has_boxes = mw_xcalloc(mw_graph_node_end(g), sizeof(*pic.has_boxes));
	pic.chains = mw_chains_find(g, v->graph.is_drawn);
	print_picture(&pic);
	mw_chains_free(&pic.chains);
	free(pic.number);
	free(pic.has_boxes);
}

int mw_view_dot(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	mw_graph_options_t options = v->graph;
	options.size_unit = v->unit;
	mw_graph_t *g = mw_graph_new(v->profile, &options);
	if (v->json)
		print_json(v, g);
	else
		print_graph(v, g);
	mw_graph_free(g);
	return 0;
}
