/* SPDX-License-Identifier: MIT
 * list.c -- `list RE`: the source of the functions that match, with what each line holds. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "report/names.h"
#include "view/pattern.h"
#include "view/show.h"
#include "view/view.h"

/* Lines shown before and after those that hold something. */
#define CONTEXT_LINES 5
/* A function of more lines is shown in its first so many. */
#define LINES_MAX 5000

static int compare_places(const void *left, const void *right) {
	const mw_node_t *a = *(const mw_node_t *const *)left, *b = *(const mw_node_t *const *)right;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

/* The file itself, or below one of the directories of --source-path. */
static FILE *open_source(const mw_view_t *v, const char *file) {
	FILE *source = fopen(file, "re");
	const char *at = v->source_path;
	while (source == NULL && at != NULL && *at != '\0') {
		size_t length = strcspn(at, ":");
		for (const char *tail = file; source == NULL && tail != NULL;) {
			size_t size = length + strlen(tail) + 2;
			char *path = mw_xcalloc(size, 1);
			snprintf(path, size, "%.*s/%s", (int)length, at, tail);
			source = fopen(path, "re");
			free(path);
			tail = strchr(tail, '/');
			tail = tail != NULL ? tail + 1 : NULL;
		}
		at += length + (at[length] == ':');
	}
	return source;
}

static void print_line(const mw_view_t *v, const mw_node_t *n, int64_t number, const char *text,
		       const char *unit) {
	char flat[MW_VALUE_BYTES] = ".", cum[MW_VALUE_BYTES] = ".";
	const char *own = n != NULL && n->flat != 0 ? mw_view_value(v, unit, n->flat, flat) : ".";
	const char *all = n != NULL && n->cum != 0 ? mw_view_value(v, unit, n->cum, cum) : ".";
	fprintf(v->out, "%10s %10s %6" PRId64 ":", own, all, number);
	for (; *text != '\0' && *text != '\n'; text++)
		fputc((unsigned char)*text < ' ' && *text != '\t' ? ' ' : *text, v->out);
	fputc('\n', v->out);
}

static void print_source(const mw_view_t *v, const mw_node_t **nodes, size_t count,
			 const char *unit) {
	FILE *source = open_source(v, mw_profile_string(v->profile, nodes[0]->file));
	if (source == NULL) {
		for (size_t i = 0; i < count; i++)
			print_line(v, nodes[i], nodes[i]->line, "   (no source; see --source-path)",
				   unit);
		return;
	}
	char *line = NULL;
	size_t capacity = 0, next = 0;
	int64_t last = nodes[count - 1]->line + CONTEXT_LINES;
	int64_t first = nodes[0]->line - CONTEXT_LINES;
	if (last - first > LINES_MAX)
		last = first + LINES_MAX;
	for (int64_t number = 1; number <= last && getline(&line, &capacity, source) > 0;
	     number++) {
		if (number < first)
			continue;
		while (next < count && nodes[next]->line < number)
			next++;
		bool has_value = next < count && nodes[next]->line == number;
		print_line(v, has_value ? nodes[next] : NULL, number, line, unit);
	}
	free(line);
	fclose(source);
}

/* `count` lines of one function.  Its cum counts a stack once a line it comes through, as pprof's.
 */
static void print_function(const mw_view_t *v, const mw_node_t **nodes, size_t count,
			   const char *unit) {
	char flat_text[MW_VALUE_BYTES], cum_text[MW_VALUE_BYTES], percent[MW_VALUE_BYTES];
	double flat = 0, cum = 0;
	for (size_t i = 0; i < count; i++) {
		flat += (double)nodes[i]->flat;
		cum += (double)nodes[i]->cum;
	}
	/* 2^62: sums out of range are of damaged files. */
	int64_t all = cum < 0x1p62 && cum > -0x1p62 ? (int64_t)cum : 0;
	int64_t own = flat < 0x1p62 && flat > -0x1p62 ? (int64_t)flat : 0;
	fputs("ROUTINE ======================== ", v->out);
	mw_print_clean(v->out, mw_profile_string(v->profile, nodes[0]->name));
	fputs(" in ", v->out);
	mw_print_clean(v->out, mw_profile_string(v->profile, nodes[0]->file));
	fprintf(v->out, "\n%10s %10s (flat, cum) %s of Total\n",
		mw_view_value(v, unit, own, flat_text), mw_view_value(v, unit, all, cum_text),
		mw_view_percent(all, v->total, percent));
	print_source(v, nodes, count, unit);
}

int mw_view_list(const mw_view_t *v, mw_error_t *error) {
	mw_pattern_t *pattern;
	if (mw_pattern_make("list", v->pattern, &pattern, error) != 0)
		return -1;
	mw_graph_options_t options = v->graph;
	options.granularity = MW_BY_LINE;
	mw_graph_t *g = mw_graph_new(v->profile, &options);
	const char *unit = mw_view_unit(v, g);
	const mw_node_t **nodes = mw_xcalloc(mw_graph_count(g), sizeof(const mw_node_t *));
	size_t count = 0, first = 0;
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		if (n->line > 0 && n->file != 0 && pattern != NULL &&
		    mw_pattern_matches(pattern, mw_profile_string(v->profile, n->name)))
			nodes[count++] = n;
	}
	qsort(nodes, count, sizeof(const mw_node_t *), compare_places);
	if (count > 0)
		mw_view_header(v, NULL, unit);
	for (size_t i = 0; i < count; i++)
		if (i + 1 == count || nodes[i + 1]->name != nodes[i]->name ||
		    nodes[i + 1]->file != nodes[i]->file) {
			print_function(v, nodes + first, i + 1 - first, unit);
			first = i + 1;
		}
	free(nodes);
	mw_graph_free(g);
	mw_pattern_free(pattern);
	if (count > 0)
		return 0;
	return mw_error_set(error,
			    "no function with known lines matches '%s'; 'mallow top --lines' shows "
			    "those there are",
			    v->pattern);
}
