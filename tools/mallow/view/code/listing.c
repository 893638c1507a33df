/* SPDX-License-Identifier: MIT
 * listing.c -- finds the functions and reads their source files. */
#include "view/code/listing.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/text.h"
#include "view/code/source.h"
#include "view/common/values.h"
#include "view/select/pattern.h"

/* Lines shown before and after lines with a value. */
#define CONTEXT_LINES 5
/* Most lines of a function that are shown. */
#define LINES_MAX 5000
/* Longest line that is shown.  Generated sources have lines of megabytes. */
#define LINE_BYTES_MAX 1000
/* Largest source file that is read.  Some files have no end. */
#define SOURCE_BYTES_MAX ((size_t)64 << 20)

/* Orders nodes by name, file and line. */
static int compare_places(const void *left, const void *right, void *context) {
	const mw_profile_t *p = context;
	const mw_node_t *a = *(const mw_node_t *const *)left, *b = *(const mw_node_t *const *)right;
	int order = strcmp(mw_profile_string(p, a->name), mw_profile_string(p, b->name));
	if (order == 0)
		order = strcmp(mw_profile_string(p, a->file), mw_profile_string(p, b->file));
	return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

/* Reads the next line without its newline, shortened if it is long.  False: the file ends. */
static bool read_line(FILE *source, size_t *left_bytes, char line[LINE_BYTES_MAX + 1]) {
	size_t length = 0;
	int c = EOF;
	while (*left_bytes > 0 && (c = getc_unlocked(source)) != EOF && c != '\n') {
		--*left_bytes;
		if (length < LINE_BYTES_MAX && c != '\r')
			line[length++] = (char)(c == '\0' ? ' ' : c);
	}
	line[length] = '\0';
	mw_text_clean(line, "\t");
	return c != EOF || length > 0;
}

static void add_line(mw_listed_function_t *f, size_t *capacity, int64_t number, const mw_node_t *n,
		     char *text) {
	f->lines = mw_grow(f->lines, capacity, f->line_count + 1, sizeof(mw_listed_line_t));
	f->lines[f->line_count++] = (mw_listed_line_t){.number = number,
						       .flat = n != NULL ? n->flat : 0,
						       .cum = n != NULL ? n->cum : 0,
						       .text = text};
}

static void read_source(FILE *source, const mw_node_t **nodes, size_t count,
			mw_listed_function_t *f) {
	char line[LINE_BYTES_MAX + 1];
	size_t left_bytes = SOURCE_BYTES_MAX, next = 0, capacity = 0;
	int64_t last = nodes[count - 1]->line, first = nodes[0]->line - CONTEXT_LINES;
	last = last - first > LINES_MAX ? first + LINES_MAX : last + CONTEXT_LINES;
	for (int64_t number = 1; number <= last && read_line(source, &left_bytes, line); number++) {
		if (number < first)
			continue;
		while (next < count && nodes[next]->line < number)
			next++;
		bool has_value = next < count && nodes[next]->line == number;
		add_line(f, &capacity, number, has_value ? nodes[next] : NULL, mw_xstrdup(line));
	}
}

static void add(int64_t *sum, int64_t value) {
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

/* Fills in a function from the `count` nodes of its lines. */
static void make_function(const mw_view_t *v, const mw_node_t **nodes, size_t count,
			  mw_listed_function_t *f) {
	size_t capacity = 0;
	*f = (mw_listed_function_t){.name = nodes[0]->name, .file = nodes[0]->file};
	for (size_t i = 0; i < count; i++) {
		add(&f->flat, nodes[i]->flat);
		add(&f->cum, nodes[i]->cum);
	}
	const char *file = mw_profile_string(v->profile, f->file);
	FILE *source = mw_source_open(file, v->source_path, &f->missing);
	if (source != NULL) {
		read_source(source, nodes, count, f);
		fclose(source);
		return;
	}
	for (size_t i = 0; i < count; i++)
		add_line(f, &capacity, nodes[i]->line, nodes[i], NULL);
}

static void make_functions(const mw_view_t *v, const mw_node_t **nodes, size_t count,
			   mw_listing_t *listing) {
	size_t first = 0;
	listing->functions = mw_xcalloc(count, sizeof(mw_listed_function_t));
	for (size_t i = 0; i < count; i++)
		if (i + 1 == count || nodes[i + 1]->name != nodes[i]->name ||
		    nodes[i + 1]->file != nodes[i]->file) {
			make_function(v, nodes + first, i + 1 - first,
				      &listing->functions[listing->count++]);
			first = i + 1;
		}
}

int mw_listing_make(const mw_view_t *v, mw_listing_t *listing, mw_error_t *error) {
	mw_pattern_t *pattern;
	if (mw_pattern_make(v->name, v->pattern, &pattern, error) != 0)
		return -1;
	mw_graph_options_t options = v->graph;
	options.granularity = MW_BY_LINE;
	mw_graph_t *g = mw_graph_new(v->profile, &options);
	*listing = (mw_listing_t){.unit = mw_view_unit(v, NULL)};
	const mw_node_t **nodes = mw_xcalloc(mw_graph_count(g), sizeof(const mw_node_t *));
	size_t count = 0;
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		if (n->line > 0 && n->file != 0 && pattern != NULL &&
		    mw_pattern_matches(pattern, mw_profile_string(v->profile, n->name)))
			nodes[count++] = n;
	}
	/* qsort_r() takes a context without const. compare_places() does not change the profile. */
	mw_profile_t *profile = (mw_profile_t *)(uintptr_t)v->profile;
	qsort_r(nodes, count, sizeof(const mw_node_t *), compare_places, profile);
	make_functions(v, nodes, count, listing);
	free(nodes);
	mw_graph_free(g);
	mw_pattern_free(pattern);
	if (count > 0)
		return 0;
	mw_listing_release(listing);
	return mw_error_set(error,
			    "no function with known source lines matches '%s'; 'mallow top "
			    "--lines' lists the known ones",
			    v->pattern);
}

void mw_listing_release(mw_listing_t *listing) {
	for (size_t i = 0; i < listing->count; i++) {
		mw_listed_function_t *f = &listing->functions[i];
		for (size_t k = 0; k < f->line_count; k++)
			free(f->lines[k].text);
		free(f->lines);
	}
	free(listing->functions);
}
