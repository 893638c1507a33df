/* SPDX-License-Identifier: MIT
 * flame_svg.c -- all stacks as a picture: a box a function, as wide as what it holds, below its
 * caller. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "report/names.h"
#include "view/calltree.h"
#include "view/show.h"
#include "view/svg.h"

/* Pixels, of the picture and of a row of boxes. */
enum { WIDTH = 1200, TOP = 32, ROW = 17, MARGIN = 8 };
/* Narrower boxes are left out, or without their names. */
#define BOX_MIN 0.3
#define NAME_MIN 26
/* Of a letter, on average. */
#define LETTER 7.2

typedef struct box {
	double size;  /* a parent of a difference is as wide as its children, if it is smaller */
	double start; /* in the same measure */
	uint32_t depth;
} box_t;

static int64_t value_of(const mw_call_tree_t *tree, size_t node) {
	return tree->values[node * tree->type_count];
}

static void measure(const mw_call_tree_t *tree, box_t *boxes) {
	double *below = mw_xcalloc(tree->node_count, sizeof(*below));
	for (size_t i = tree->node_count; i-- > 0;) {
		double value = (double)value_of(tree, i);
		boxes[i].size = value < 0 ? -value : value;
		if (below[i] > boxes[i].size)
			boxes[i].size = below[i];
		if (i > 0)
			below[tree->nodes[i].parent] += boxes[i].size;
	}
	free(below);
}

static int compare_sizes(const void *a, const void *b, void *context) {
	const box_t *boxes = context;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	if (boxes[i].size != boxes[k].size)
		return boxes[i].size < boxes[k].size ? 1 : -1;
	return i < k ? -1 : i > k;
}

/* Beside each other, the largest first.  A parent is placed before its children are: it is at least
 * as large as each of them, and has the smaller number. */
static void place(const mw_call_tree_t *tree, box_t *boxes) {
	size_t *order = mw_xcalloc(tree->node_count, sizeof(*order));
	double *next = mw_xcalloc(tree->node_count, sizeof(*next));
	for (size_t i = 0; i < tree->node_count; i++)
		order[i] = i;
	qsort_r(order, tree->node_count, sizeof(*order), compare_sizes, boxes);
	for (size_t i = 0; i < tree->node_count; i++) {
		size_t node = order[i], parent = tree->nodes[node].parent;
		if (node > 0) {
			boxes[node].start = next[parent];
			boxes[node].depth = boxes[parent].depth + 1;
			next[parent] += boxes[node].size;
		}
		next[node] = boxes[node].start;
	}
	free(next);
	free(order);
}

static bool is_difference(const mw_call_tree_t *tree) {
	for (size_t i = 0; i < tree->node_count; i++)
		if (value_of(tree, i) < 0)
			return true;
	return false;
}

/* The page's colours: one a name; of a difference red for what grew and green for what shrank, the
 * stronger the larger a share. */
static void print_colour(FILE *out, const char *name, int64_t value, double share) {
	uint32_t hash = 7;
	for (size_t i = 0; name[i] != '\0' && i < 40; i++)
		hash = hash * 31 + (unsigned char)name[i];
	if (share > 0)
		fprintf(out, "hsl(%u,%.0f%%,%u%%)", value < 0 ? 130 : 4, 20 + 60 * sqrt(share),
			70 + (hash >> 4) % 9);
	else
		fprintf(out, "hsl(%u,%u%%,%u%%)", 14 + (hash >> 8) % 36, 62 + (hash >> 16) % 20,
			70 + (hash >> 4) % 9);
}

static void print_name(FILE *out, const char *name, double wide) {
	size_t room = (size_t)((wide - 8) / LETTER);
	char text[WIDTH];
	if (mw_text_width(name) > room && room <= 3)
		return;
	mw_fit_name(name, room, text, sizeof(text));
	mw_svg_text(out, text);
}

static void print_box(const mw_call_tree_t *tree, const mw_view_t *v, const box_t *box, size_t node,
		      double scale, double share) {
	const mw_profile_t *p = v->profile;
	const char *name = node > 0 ? tree->names[tree->nodes[node].name]
				    : mw_profile_string(p, p->origin.program);
	char value[MW_VALUE_BYTES];
	double x = MARGIN + box->start * scale, wide = box->size * scale;
	double y = TOP + (double)box->depth * ROW;
	fprintf(v->out, "<g><title>");
	mw_svg_text(v->out, name);
	fprintf(v->out,
		": %s (%.2f%%)</title><rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" "
		"height=\"%d\" fill=\"",
		mw_view_value(v, mw_view_unit(v, NULL), value_of(tree, node), value),
		v->total != 0 ? 100.0 * (double)value_of(tree, node) / (double)v->total : 0.0, x, y,
		wide > 3 ? wide - 1 : wide, ROW - 1);
	print_colour(v->out, name, value_of(tree, node), share);
	fprintf(v->out, "\"/>");
	if (wide > NAME_MIN) {
		fprintf(v->out, "<text x=\"%.1f\" y=\"%.0f\">", x + 4, y + 12);
		print_name(v->out, name, wide);
		fprintf(v->out, "</text>");
	}
	fprintf(v->out, "</g>\n");
}

void mw_call_tree_svg(const mw_call_tree_t *tree, const mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	box_t *boxes = mw_xcalloc(tree->node_count, sizeof(*boxes));
	measure(tree, boxes);
	place(tree, boxes);
	double scale = boxes[0].size > 0 ? (WIDTH - 2 * MARGIN) / boxes[0].size : 0;
	uint32_t deepest = 0;
	for (size_t i = 0; i < tree->node_count; i++)
		if (boxes[i].size * scale >= BOX_MIN && boxes[i].depth > deepest)
			deepest = boxes[i].depth;
	unsigned long height = TOP + (deepest + 1ul) * ROW + MARGIN;
	char total[MW_VALUE_BYTES];
	fprintf(v->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %lu\" width=\"%d\" "
		"height=\"%lu\" font-family=\"system-ui, DejaVu Sans, sans-serif\" "
		"font-size=\"12\">\n<rect width=\"%d\" height=\"%lu\" fill=\"#fff\"/>\n"
		"<text x=\"%d\" y=\"20\" font-size=\"14\" font-weight=\"600\">",
		WIDTH, height, WIDTH, height, WIDTH, height, MARGIN);
	mw_svg_text(v->out, mw_profile_string(p, p->origin.program));
	fputs(": ", v->out);
	mw_svg_text(v->out, mw_profile_string(p, p->types[v->type].type));
	fprintf(v->out, ", %s</text>\n",
		mw_view_value(v, mw_view_unit(v, NULL), value_of(tree, 0), total));
	bool is_diff = is_difference(tree);
	for (size_t i = 0; i < tree->node_count; i++)
		if (boxes[i].size * scale >= BOX_MIN)
			print_box(tree, v, &boxes[i], i, scale,
				  is_diff ? boxes[i].size / boxes[0].size : 0);
	fputs("</svg>\n", v->out);
	free(boxes);
}
