/* SPDX-License-Identifier: MIT
 * massif.c -- reads massif.out.* files of valgrind: the tree of the peak, and the tree of the
 * last detailed snapshot.
 * A line of a tree is " n2: 1000 0x109160: outer (prog.c:12)", indented by its depth; its
 * callers follow.  Bytes that no caller accounts for become a sample. */
#include <stdlib.h>
#include <string.h>

#include "formats/text/lines.h"
#include "formats/text/text_formats.h"
#include "model/memory.h"
#include "model/table.h"

enum { PEAK, LIVE, SUMS };

typedef struct place {
	uint32_t function;
	int64_t line;
} place_t;

typedef struct massif {
	mw_lines_t lines;
	mw_table_t table; /* finds places */
	place_t *places;  /* places[i] belongs to location i */
	size_t place_capacity;
	const char *trees[SUMS]; /* text after "heap_tree=", for each tree */
	size_t tree_lines[SUMS];
} massif_t;

bool mw_is_massif(const char *bytes, size_t length) {
	return length > 6 && memcmp(bytes, "desc: ", 6) == 0;
}

static bool same_place(const void *context, uint32_t entry, const void *key) {
	const massif_t *m = context;
	const place_t *place = key;
	return m->places[entry].function == place->function && m->places[entry].line == place->line;
}

static uint32_t location_of(massif_t *m, mw_string_t name, mw_string_t file, int64_t line) {
	mw_profile_t *p = m->lines.profile;
	mw_function_t function = {.name = name, .system_name = name, .file = file};
	place_t place = {mw_profile_add_function(p, &function), line};
	uint64_t key[] = {place.function, (uint64_t)line};
	uint64_t hash = mw_table_hash(key, sizeof(key));
	uint32_t location = mw_table_find(&m->table, hash, same_place, m, &place);
	if (location != 0)
		return location;
	location = mw_profile_append_location(p, 0, 0, false);
	mw_profile_set_lines(p, location, &(mw_line_t){.function = place.function, .line = line},
			     1);
	m->places = mw_grow(m->places, &m->place_capacity, (size_t)location + 1, sizeof(place_t));
	m->places[location] = place;
	mw_table_add(&m->table, hash, location);
	return location;
}

/* Reads "main (prog.c:12)", "malloc (in /usr/lib/libc.so.6)", or a text that names no function. */
static uint32_t take_place(massif_t *m, const char *at, const char *end, bool is_function) {
	mw_profile_t *p = m->lines.profile;
	const char *open = is_function && end > at && end[-1] == ')'
				   ? memrchr(at, '(', (size_t)(end - at))
				   : NULL;
	if (open == NULL || open - at < 2 || open[-1] != ' ')
		return location_of(m, mw_profile_intern_bytes(p, at, (size_t)(end - at)), 0, 0);
	mw_string_t name = mw_profile_intern_bytes(p, at, (size_t)(open - 1 - at));
	const char *file = open + 1, *file_end = end - 1;
	if (mw_starts_with(file, "in ")) {
		mw_string_t module =
			mw_profile_intern_bytes(p, file + 3, (size_t)(file_end - file - 3));
		if (strcmp(mw_profile_string(p, name), "???") == 0)
			name = mw_lines_module_name(p, module);
		return location_of(m, name, module, 0);
	}
	const char *colon = memrchr(file, ':', (size_t)(file_end - file));
	int64_t line = 0;
	const char *digits = colon != NULL ? colon + 1 : NULL;
	if (colon != NULL && mw_take_number(&digits, &line))
		file_end = colon;
	return location_of(m, name, mw_profile_intern_bytes(p, file, (size_t)(file_end - file)),
			   line);
}

/* Reads a line of a tree.  `*callers` is the number of callers that follow. */
static int take_node(massif_t *m, const char *line, size_t depth, int64_t *callers,
		     int64_t *bytes) {
	mw_lines_t *r = &m->lines;
	const char *at = line + strspn(line, " ");
	if ((size_t)(at - line) != depth || *at != 'n')
		return mw_lines_damaged(r, "this is not a line of a tree");
	at++;
	if (!mw_take_number(&at, callers) || !mw_take_char(&at, ':') || !mw_take_number(&at, bytes))
		return mw_lines_damaged(r, "this is not a line of a tree");
	const char *end = r->at;
	while (end > at && (end[-1] == '\n' || end[-1] == '\r'))
		end--;
	at = mw_skip_blanks(at);
	const char *colon = mw_starts_with(at, "0x") ? memchr(at, ':', (size_t)(end - at)) : NULL;
	if (colon != NULL)
		at = mw_skip_blanks(colon + 1);
	r->frames = mw_grow(r->frames, &r->frame_capacity, depth + 1, sizeof(uint32_t));
	/* The root of a tree is the allocator itself. */
	r->frames[depth] = depth > 0 ? take_place(m, at < end ? at : end, end, colon != NULL) : 0;
	return 0;
}

/* Reads one tree, without recursion: `left` counts the callers of each depth that are still to
 * be read. */
static int take_tree(massif_t *m, int which) {
	mw_lines_t *r = &m->lines;
	int64_t *left = NULL, callers = 0, bytes = 0;
	size_t capacity = 0, depth = 0;
	int result = 0;
	const char *line;
	r->at = m->trees[which];
	r->line_number = m->tree_lines[which];
	do {
		line = mw_lines_next(r);
		if (line == NULL || depth == MW_READ_DEPTH_MAX ||
		    r->profile->sample_count == MW_READ_ENTRIES_MAX) {
			result = mw_lines_damaged(r, "the tree has no end, or is too large");
			break;
		}
		result = take_node(m, line, depth, &callers, &bytes);
		if (result != 0)
			break;
		left = mw_grow(left, &capacity, depth + 1, sizeof(*left));
		left[depth] = callers;
		if (callers == 0 && depth > 0) {
			int64_t values[SUMS] = {0};
			values[which] = bytes;
			/* frames[1] allocated the memory; frames[depth] is the outermost. */
			mw_profile_add_sample(r->profile, r->frames + 1, depth, values, NULL, 0);
		}
		while (depth > 0 && left[depth] == 0)
			depth--;
		if (left[depth] > 0) {
			left[depth]--;
			depth++;
		} else {
			break;
		}
	} while (true);
	free(left);
	return result;
}

/* Finds the trees and reads the settings of the file. */
static void find_trees(massif_t *m) {
	mw_lines_t *r = &m->lines;
	for (const char *line; (line = mw_lines_next(r)) != NULL;) {
		bool is_peak = mw_starts_with(line, "heap_tree=peak");
		if (mw_starts_with(line, "cmd: "))
			r->profile->origin.args = mw_profile_intern_bytes(
				r->profile, line + 5, strcspn(line + 5, "\r\n"));
		if (!is_peak && !mw_starts_with(line, "heap_tree=detailed"))
			continue;
		if (is_peak) {
			m->trees[PEAK] = r->at;
			m->tree_lines[PEAK] = r->line_number;
		}
		m->trees[LIVE] = r->at;
		m->tree_lines[LIVE] = r->line_number;
	}
}

int mw_read_massif(mw_profile_t *p, const char *name, const char *bytes, size_t length,
		   mw_error_t *error) {
	massif_t m = {.lines = mw_lines_of(p, name, bytes, length, error)};
	p->origin.format = mw_profile_intern(p, "massif");
	mw_profile_add_type(p, "peak_space", "bytes");
	mw_profile_add_type(p, "inuse_space", "bytes");
	find_trees(&m);
	int result = 0;
	if (m.trees[LIVE] == NULL)
		result = mw_error_set(error,
				      "%s: none of massif's snapshots in this file has a tree of "
				      "functions; run massif with --detailed-freq=1",
				      name);
	for (int which = 0; which < SUMS && result == 0; which++)
		if (m.trees[which] != NULL)
			result = take_tree(&m, which);
	mw_table_clear(&m.table);
	free(m.places);
	free(m.lines.frames);
	return result;
}
