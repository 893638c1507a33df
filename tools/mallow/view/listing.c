/* SPDX-License-Identifier: MIT
 * listing.c -- finds the functions, and their source on disk. */
#include "view/listing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/alloc.h"
#include "view/pattern.h"
#include "view/show.h"

/* Lines shown before and after those that hold something. */
#define CONTEXT_LINES 5
/* A function of more lines is shown in its first so many. */
#define LINES_MAX 5000
/* Generated sources have lines of megabytes; nobody reads beyond. */
#define LINE_BYTES_MAX 1000
/* No source is larger; some files have no end. */
#define SOURCE_BYTES_MAX ((size_t)64 << 20)

/* By name, file, line. */
static int compare_places(const void *left, const void *right, void *context) {
	const mw_profile_t *p = context;
	const mw_node_t *a = *(const mw_node_t *const *)left, *b = *(const mw_node_t *const *)right;
	int order = strcmp(mw_profile_string(p, a->name), mw_profile_string(p, b->name));
	if (order == 0)
		order = strcmp(mw_profile_string(p, a->file), mw_profile_string(p, b->file));
	return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

/* The profile names the file: it may be a pipe that nobody writes to, or a disk. */
static FILE *open_regular(const char *path) {
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file =
		fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? fdopen(fd, "r") : NULL;
	if (fd >= 0 && file == NULL)
		close(fd);
	return file;
}

/* The file itself, or below one of the directories of --source-path. */
static FILE *open_source(const mw_view_t *v, const char *file) {
	FILE *source = open_regular(file);
	const char *at = v->source_path;
	while (source == NULL && at != NULL && *at != '\0') {
		size_t length = strcspn(at, ":");
		for (const char *tail = file; source == NULL && tail != NULL;) {
			size_t size = length + strlen(tail) + 2;
			char *path = mw_xcalloc(size, 1);
			snprintf(path, size, "%.*s/%s", (int)length, at, tail);
			source = open_regular(path);
			free(path);
			tail = strchr(tail, '/');
			tail = tail != NULL ? tail + 1 : NULL;
		}
		at += length + (at[length] == ':');
	}
	return source;
}

/* The next line without its end, cut when it is long.  False: there is none. */
static bool read_line(FILE *source, size_t *left_bytes, char line[LINE_BYTES_MAX + 1]) {
	size_t length = 0;
	int c = EOF;
	while (*left_bytes > 0 && (c = getc_unlocked(source)) != EOF && c != '\n') {
		--*left_bytes;
		if (length < LINE_BYTES_MAX && c != '\r')
			line[length++] = (char)(c < ' ' && c != '\t' ? ' ' : c);
	}
	line[length] = '\0';
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

/* `count` lines of one function. */
static void make_function(const mw_view_t *v, const mw_node_t **nodes, size_t count,
			  mw_listed_function_t *f) {
	size_t capacity = 0;
	*f = (mw_listed_function_t){.name = nodes[0]->name, .file = nodes[0]->file};
	for (size_t i = 0; i < count; i++) {
		add(&f->flat, nodes[i]->flat);
		add(&f->cum, nodes[i]->cum);
	}
	FILE *source = open_source(v, mw_profile_string(v->profile, f->file));
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
	/* As they are, for its context. */
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
			    "no function with known lines matches '%s'; 'mallow top --lines' shows "
			    "those there are",
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
