/* SPDX-License-Identifier: MIT
 * interpreters.c -- removes interpreters' own frames from stacks that have functions of scripts,
 * and adds places to the names of these functions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "view/select/wrappers.h"

static const struct {
	const char *pattern;
	bool is_interpreter;
} rows[] = {
#define MW_INTERPRETER_FILE(whose, pattern) {"^(" pattern ")$", true},
#define MW_LIBRARY_FILE(whose, pattern) {"^(" pattern ")$", false},
#define MW_WRAPPER(whose, pattern)
#define MW_LIBRARY(whose, pattern)
#define MW_LIBRARY_SOURCE(whose, pattern, source)
#define MW_OWN(whose, pattern)
#define MW_START(whose, pattern)
#include "view/select/wrappers.def"
};
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

/* What the file of a frame says of it. */
typedef enum file_kind {
	FILE_OTHER,
	FILE_SCRIPT,
	FILE_INTERPRETER,
	FILE_LIBRARY, /* a language's */
	FILE_NONE,    /* none: perhaps generated code */
} file_kind_t;

typedef struct folder {
	mw_profile_t *profile;
	const mw_pattern_t *kept; /* NULL = none */
	file_kind_t *files;       /* files[i] belongs to mapping i */
} folder_t;

static file_kind_t kind_of_file(const char *path, mw_pattern_t *const patterns[ROW_COUNT]) {
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	if (mw_is_script_module(path))
		return FILE_SCRIPT;
	if (*path == '\0' || strcmp(path, "//anon") == 0)
		return FILE_NONE;
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (patterns[i] != NULL && mw_pattern_matches(patterns[i], name))
			return rows[i].is_interpreter ? FILE_INTERPRETER : FILE_LIBRARY;
	return FILE_OTHER;
}

/* Returns the kind of each mapping's file; the caller frees the array. NULL: no mapping is that of
 * a script's functions. */
static file_kind_t *kinds_of_files(const mw_profile_t *p) {
	mw_pattern_t *patterns[ROW_COUNT] = {NULL};
	file_kind_t *kinds = mw_xcalloc(p->mapping_count, sizeof(*kinds));
	bool has_script = false;
	mw_error_t error;
	for (size_t i = 0; i < p->mapping_count && !has_script; i++)
		has_script = mw_is_script_module(mw_profile_string(p, p->mappings[i].path));
	/* The patterns are constant, and the tests compile each of them. */
	for (size_t i = 0; i < ROW_COUNT && has_script; i++)
		if (mw_pattern_make("native", rows[i].pattern, &patterns[i], &error) != 0)
			patterns[i] = NULL;
	for (size_t i = 0; i < p->mapping_count && has_script; i++)
		kinds[i] = kind_of_file(mw_profile_string(p, p->mappings[i].path), patterns);
	for (size_t i = 0; i < ROW_COUNT; i++)
		mw_pattern_free(patterns[i]);
	if (has_script)
		return kinds;
	free(kinds);
	return NULL;
}

static file_kind_t kind_of(const folder_t *f, uint32_t location) {
	return f->files[f->profile->locations[location].mapping];
}

/* True if a line of the location is to stay: the user asks for it, or it stands for frames that are
 * not known, such as [truncated]. */
static bool is_kept(const folder_t *f, uint32_t location) {
	const mw_profile_t *p = f->profile;
	const mw_location_t *its = &p->locations[location];
	for (uint32_t k = 0; k < its->line_count; k++) {
		const mw_line_t *line = mw_location_line(p, its, k);
		const char *name = mw_profile_string(p, p->functions[line->function].name);
		if (name[0] == '[' || (f->kept != NULL && mw_pattern_matches(f->kept, name)))
			return true;
	}
	return false;
}

/* True if the frame is left out. `is_outside`: all functions of scripts are its callees. */
static bool is_folded(const folder_t *f, uint32_t location, bool is_outside) {
	file_kind_t kind = kind_of(f, location);
	bool is_theirs = kind == FILE_INTERPRETER || kind == FILE_NONE ||
			 (kind == FILE_LIBRARY && is_outside);
	return is_theirs && !is_kept(f, location);
}

/* Removes frames from a stack. `room`: for as many numbers as the stack has frames. */
static void fold_stack(const folder_t *f, size_t sample, uint32_t *room) {
	const mw_sample_t *s = &f->profile->samples[sample];
	const uint32_t *frames = f->profile->frames + s->frame_first;
	uint32_t limit = s->depth, count = 0; /* limit: behind the outermost function of a script */
	while (limit > 0 && kind_of(f, frames[limit - 1]) != FILE_SCRIPT)
		limit--;
	if (limit == 0)
		return;
	for (uint32_t i = 0; i < s->depth; i++)
		if (!is_folded(f, frames[i], i >= limit))
			room[count++] = frames[i];
	if (count < s->depth)
		mw_profile_set_frames(f->profile, sample, room, count);
}

void mw_interpreters_fold(mw_profile_t *p, const mw_pattern_t *kept) {
	folder_t f = {.profile = p, .kept = kept, .files = kinds_of_files(p)};
	uint32_t deepest = 0;
	if (f.files == NULL)
		return;
	for (size_t i = 0; i < p->sample_count; i++)
		deepest = p->samples[i].depth > deepest ? p->samples[i].depth : deepest;
	uint32_t *room = mw_xcalloc((size_t)deepest + 1, sizeof(*room));
	for (size_t i = 0; i < p->sample_count; i++)
		fold_stack(&f, i, room);
	free(room);
	free(f.files);
}

/* Adds the base name of the function's file and its first line to its name, unless that names the
 * file already. */
static void add_place(mw_profile_t *p, mw_function_t *function) {
	char text[2048], line[24] = "";
	const char *name = mw_profile_string(p, function->name);
	const char *file = mw_profile_string(p, function->file), *slash = strrchr(file, '/');
	const char *base = slash != NULL ? slash + 1 : file;
	if (*base == '\0' || strstr(name, base) != NULL)
		return;
	if (function->start_line > 0)
		snprintf(line, sizeof(line), ":%" PRId64, function->start_line);
	snprintf(text, sizeof(text), "%s %s%s", name, base, line);
	function->name = mw_profile_intern(p, text);
}

void mw_script_places_add(mw_profile_t *p) {
	bool *is_script = mw_xcalloc(p->mapping_count, sizeof(*is_script));
	for (size_t i = 0; i < p->mapping_count; i++)
		is_script[i] = mw_is_script_module(mw_profile_string(p, p->mappings[i].path));
	for (size_t i = 1; i < p->location_count; i++) {
		const mw_location_t *l = &p->locations[i];
		for (uint32_t k = 0; is_script[l->mapping] && k < l->line_count; k++)
			add_place(p, &p->functions[p->lines[l->line_first + k].function]);
	}
	free(is_script);
}
