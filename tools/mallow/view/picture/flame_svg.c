/* SPDX-License-Identifier: MIT
 * flame_svg.c -- all stacks as a picture: one box for each function below its caller, as wide as
 * its value. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "report/text/names.h"
#include "view/common/values.h"
#include "view/common/web_page.h"
#include "view/picture/calltree.h"

/* Pixels: the picture, the space above it, a row of boxes, the margin. */
enum { WIDTH = 1200, TOP = 52, ROW = 17, MARGIN = 8 };
/* Narrower boxes are left out, or have no name. */
#define BOX_MIN 0.3
#define NAME_MIN 26
/* Average width of a letter in pixels. */
#define LETTER 7.7

typedef struct box {
	/* Width; a node of a difference is at least as wide as its children together. */
	double size;
	double start; /* left end, in the unit of `size` */
	uint32_t depth;
} box_t;

static int64_t value_of(const mw_call_tree_t *tree, size_t node) {
	return tree->values[node * tree->column_count];
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

/* Places boxes beside each other, largest first.  A parent is placed before its children,
 * because it has the smaller index. */
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

/* Hues of modules; the module with most bytes has the first.  The page uses equal hues. */
static const unsigned hues[] = {28, 205, 130, 275, 345, 175, 55, 310};
enum { HUE_COUNT = sizeof(hues) / sizeof(hues[0]), GREW = 8, SHRANK = 160, NO_MODULE_HUE = 32 };
/* Steps of the strength of a change's colour. */
enum { STRENGTHS = 8 };

static uint32_t hash_of(const char *name) {
	uint32_t hash = 7;
	for (size_t i = 0; name[i] != '\0' && i < 40; i++)
		hash = hash * 31 + (unsigned char)name[i];
	return hash;
}

/* Writes the colours of a dark page: where the reader's system asks for it, a box's class replaces
 * the colour that the box has of itself. */
static void print_style(FILE *out) {
	fputs("<style>.back{fill:#fff}text{fill:#1c1c1e}@media(prefers-color-scheme:dark){"
	      "svg{background:#17171a}.back{fill:#17171a}text{fill:#f4f4f8}.system{fill:hsl(220,4%,"
	      "32%)}",
	      out);
	fprintf(out, ".none{fill:hsl(%d,44%%,25%%)}", NO_MODULE_HUE);
	for (unsigned i = 0; i < HUE_COUNT; i++)
		fprintf(out, ".m%u{fill:hsl(%u,44%%,25%%)}.l%u{fill:hsl(%u,60%%,38%%)}", i, hues[i],
			i, hues[i]);
	for (unsigned i = 0; i <= STRENGTHS; i++)
		fprintf(out, ".g%u{fill:hsl(%d,%u%%,27%%)}.s%u{fill:hsl(%d,%u%%,27%%)}", i, GREW,
			20 + 60 * i / STRENGTHS, i, SHRANK, 20 + 60 * i / STRENGTHS);
	fprintf(out, ".lg{fill:hsl(%d,70%%,40%%)}.ls{fill:hsl(%d,70%%,40%%)}}</style>\n", GREW,
		SHRANK);
}

/* Writes the class of a box, for print_style(). */
static void print_class(FILE *out, const mw_call_tree_t *tree, size_t node, double share) {
	uint32_t module = tree->name_modules[tree->nodes[node].name];
	if (share > 0)
		fprintf(out, "%c%.0f", value_of(tree, node) < 0 ? 's' : 'g',
			fmin(1, sqrt(share)) * STRENGTHS);
	else if (node == 0 || module == MW_MODULE_SYSTEM)
		fputs("system", out);
	else if (module == MW_MODULE_NONE)
		fputs("none", out);
	else
		fprintf(out, "m%u", (module - MW_MODULE_FIRST) % HUE_COUNT);
}

/* Writes a colour.  In a difference, red is growth and green is shrinking, stronger for larger
 * shares.  Otherwise a box has the hue of its module; libc and the libraries of languages are
 * grey. */
static void print_colour(FILE *out, const mw_call_tree_t *tree, size_t node, double share) {
	uint32_t name = tree->nodes[node].name, module = tree->name_modules[name];
	uint32_t hash = hash_of(tree->names[name]);
	uint32_t vary = (hash >> 8) % 17, shade = 76 + (hash >> 4) % 6;
	if (share > 0)
		fprintf(out, "hsl(%u,%.0f%%,%u%%)", value_of(tree, node) < 0 ? SHRANK : GREW,
			20 + 60 * sqrt(share), shade);
	else if (node == 0 || module == MW_MODULE_SYSTEM)
		fprintf(out, "hsl(220,4%%,%u%%)", shade + 2);
	else if (module == MW_MODULE_NONE)
		fprintf(out, "hsl(%u,66%%,%u%%)", 16 + 2 * vary, shade);
	else
		fprintf(out, "hsl(%u,66%%,%u%%)",
			(hues[(module - MW_MODULE_FIRST) % HUE_COUNT] + 352 + vary) % 360, shade);
}

/* Writes one entry of the legend at `x`.  Returns the place of the next one. */
static double print_legend_entry(FILE *out, double x, const char *class, const char *colour,
				 const char *text) {
	double wide = 30 + (double)mw_text_width(text) * LETTER;
	if (x + wide > WIDTH)
		return x;
	fprintf(out,
		"<rect class=\"legend %s\" x=\"%.1f\" y=\"32\" width=\"11\" height=\"11\" "
		"fill=\"%s\"/><text x=\"%.1f\" y=\"42\">",
		class, x, colour, x + 16);
	mw_svg_text(out, text);
	fputs("</text>\n", out);
	return x + wide;
}

/* Writes the legend of colours below the title. */
static void print_legend(const mw_call_tree_t *tree, FILE *out, bool is_diff) {
	char class[16], colour[32];
	double x = MARGIN;
	bool has_system = false;
	if (is_diff) {
		snprintf(colour, sizeof(colour), "hsl(%d,66%%,70%%)", GREW);
		x = print_legend_entry(out, x, "lg", colour, "grew");
		snprintf(colour, sizeof(colour), "hsl(%d,66%%,70%%)", SHRANK);
		print_legend_entry(out, x, "ls", colour, "shrank");
		return;
	}
	for (size_t i = 0; i + MW_MODULE_FIRST < tree->module_count && i < HUE_COUNT; i++) {
		snprintf(class, sizeof(class), "l%zu", i);
		snprintf(colour, sizeof(colour), "hsl(%u,66%%,70%%)", hues[i]);
		x = print_legend_entry(out, x, class, colour, tree->modules[MW_MODULE_FIRST + i]);
	}
	for (size_t i = 0; i < tree->name_count; i++)
		has_system |= tree->name_modules[i] == MW_MODULE_SYSTEM;
	if (has_system)
		print_legend_entry(out, x, "system", "hsl(220,4%,80%)",
				   "libc and language libraries");
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
		"height=\"%d\" class=\"",
		mw_view_value(v, mw_view_unit(v, NULL), value_of(tree, node), value),
		v->total != 0 ? 100.0 * (double)value_of(tree, node) / (double)v->total : 0.0, x, y,
		wide > 3 ? wide - 1 : wide, ROW - 1);
	print_class(v->out, tree, node, share);
	fputs("\" fill=\"", v->out);
	print_colour(v->out, tree, node, share);
	fprintf(v->out, "\"/>");
	if (wide > NAME_MIN) {
		fprintf(v->out, "<text x=\"%.1f\" y=\"%.0f\">", x + 4, y + 12);
		print_name(v->out, name, wide);
		fprintf(v->out, "</text>");
	}
	fprintf(v->out, "</g>\n");
}

/* Writes the title: program, process, sample type, total, and for a difference the subtracted
 * profile. */
static void print_title(const mw_call_tree_t *tree, const mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	char total[MW_VALUE_BYTES];
	fprintf(v->out, "<text x=\"%d\" y=\"20\" font-size=\"14\" font-weight=\"600\">", MARGIN);
	mw_svg_text(v->out, mw_profile_string(p, p->origin.program));
	if (p->origin.pid != 0)
		fprintf(v->out, " (pid %" PRIu32 ")", p->origin.pid);
	fputs(": ", v->out);
	mw_svg_text(v->out, mw_profile_string(p, p->types[v->type].type));
	fprintf(v->out, ", %s", mw_view_value(v, mw_view_unit(v, NULL), value_of(tree, 0), total));
	if (v->base != NULL) {
		fputs(" more than in ", v->out);
		mw_svg_text(v->out, v->base);
	}
	fputs("</text>\n", v->out);
	if (tree->node_count == 1)
		fprintf(v->out,
			"<text x=\"%d\" y=\"42\">Nothing to show: no stack has a value of this "
			"sample type.</text>\n",
			MARGIN);
}

void mw_call_tree_svg(const mw_call_tree_t *tree, const mw_view_t *v) {
	box_t *boxes = mw_xcalloc(tree->node_count, sizeof(*boxes));
	measure(tree, boxes);
	place(tree, boxes);
	double scale = boxes[0].size > 0 ? (WIDTH - 2 * MARGIN) / boxes[0].size : 0;
	uint32_t deepest = 0;
	for (size_t i = 0; i < tree->node_count; i++)
		if (boxes[i].size * scale >= BOX_MIN && boxes[i].depth > deepest)
			deepest = boxes[i].depth;
	unsigned long height = TOP + (deepest + 1ul) * ROW + MARGIN;
	fprintf(v->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %lu\" width=\"%d\" "
		"height=\"%lu\" font-family=\"system-ui, DejaVu Sans, sans-serif\" "
		"font-size=\"12\">\n",
		WIDTH, height, WIDTH, height);
	print_style(v->out);
	fprintf(v->out, "<rect class=\"back\" width=\"%d\" height=\"%lu\" fill=\"#fff\"/>\n", WIDTH,
		height);
	print_title(tree, v);
	bool is_diff = is_difference(tree);
	print_legend(tree, v->out, is_diff);
	for (size_t i = 0; i < tree->node_count; i++)
		if (boxes[i].size * scale >= BOX_MIN)
			print_box(tree, v, &boxes[i], i, scale,
				  is_diff ? boxes[i].size / boxes[0].size : 0);
	fputs("</svg>\n", v->out);
	free(boxes);
}
