/* SPDX-License-Identifier: MIT
 * suppress.c -- reads suppressions and applies them. */
#include "check/suppress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wildcard.h"
#include "model/memory.h"

/* Largest suppression file.  Files that people write have some kilobytes. */
#define FILE_BYTES_MAX ((size_t)4 << 20)

bool mw_suppression_matches(const char *pattern, const char *text) {
	return mw_wildcard_matches(pattern, text);
}

static int parse_line(mw_suppressions_t *s, const char *name, size_t number, const char *line,
		      size_t length, mw_error_t *error) {
	static const char kind[] = "leak:";
	while (length > 0 && strchr(" \t\r", line[length - 1]) != NULL)
		length--;
	while (length > 0 && strchr(" \t", *line) != NULL) {
		line++;
		length--;
	}
	if (length == 0 || *line == '#')
		return 0;
	if (length <= strlen(kind) || memcmp(line, kind, strlen(kind)) != 0)
		return mw_error_set(error,
				    "%s: line %zu is not a suppression; write 'leak:' and then a "
				    "part of the name of a function, source file or module",
				    name, number);
	s->rows = mw_grow(s->rows, &s->capacity, s->count + 1, sizeof(*s->rows));
	char *pattern = mw_xcalloc(length, 1);
	memcpy(pattern, line + strlen(kind), length - strlen(kind));
	s->rows[s->count++] = (mw_suppression_t){.pattern = pattern};
	return 0;
}

int mw_suppressions_parse(mw_suppressions_t *s, const char *name, const char *text,
			  mw_error_t *error) {
	for (size_t number = 1; *text != '\0'; number++) {
		size_t length = strcspn(text, "\n");
		if (parse_line(s, name, number, text, length, error) != 0)
			return -1;
		text += length + (text[length] == '\n');
	}
	return 0;
}

int mw_suppressions_read(mw_suppressions_t *s, const char *path, mw_error_t *error) {
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return mw_error_set(error, "%s: cannot read: %s; give a file of suppressions", path,
				    strerror(errno));
	char *text = mw_xcalloc(FILE_BYTES_MAX + 1, 1);
	size_t length = fread(text, 1, FILE_BYTES_MAX, file);
	int result = 0;
	if (ferror(file))
		result = mw_error_set(error, "%s: cannot read: %s; give a file of suppressions",
				      path, strerror(errno));
	else if (length == FILE_BYTES_MAX)
		result = mw_error_set(error, "%s: the file is larger than 4 MiB; split it", path);
	else
		result = mw_suppressions_parse(s, path, text, error);
	free(text);
	fclose(file);
	return result;
}

void mw_suppressions_release(mw_suppressions_t *s) {
	for (size_t i = 0; i < s->count; i++)
		free(s->rows[i].pattern);
	free(s->rows);
}

bool mw_suppression_matches_location(const mw_profile_t *p, uint32_t location,
				     const char *pattern) {
	const mw_location_t *l = &p->locations[location];
	for (uint32_t i = 0; i < l->line_count; i++) {
		const mw_function_t *f = &p->functions[p->lines[l->line_first + i].function];
		if (mw_suppression_matches(pattern, mw_profile_string(p, f->name)) ||
		    (f->file != 0 &&
		     mw_suppression_matches(pattern, mw_profile_string(p, f->file))))
			return true;
	}
	return l->mapping != 0 &&
	       mw_suppression_matches(pattern, mw_profile_string(p, p->mappings[l->mapping].path));
}

/* Returns 1 + the index of the first suppression that matches; 0 = none. */
static uint32_t find_match(const mw_suppressions_t *s, const mw_profile_t *p, uint32_t location) {
	for (size_t i = 0; i < s->count; i++)
		if (mw_suppression_matches_location(p, location, s->rows[i].pattern))
			return (uint32_t)i + 1;
	return 0;
}

static uint32_t find_in_stack(const mw_profile_t *p, const mw_sample_t *sample,
			      const uint32_t *matches) {
	for (uint32_t i = 0; i < sample->depth; i++)
		if (matches[p->frames[sample->frame_first + i]] != 0)
			return matches[p->frames[sample->frame_first + i]];
	return 0;
}

static void count_value(const mw_profile_t *p, size_t sample, const char *type, int64_t *sum) {
	int index = mw_profile_find_type(p, type);
	if (index >= 0 && __builtin_add_overflow(*sum, mw_profile_values(p, sample)[index], sum))
		*sum = INT64_MAX;
}

void mw_suppress(mw_suppressions_t *s, mw_profile_t *p, bool counts) {
	uint32_t *matches = mw_xcalloc(p->location_count, sizeof(*matches));
	for (size_t i = 1; i < p->location_count; i++)
		matches[i] = find_match(s, p, (uint32_t)i);
	size_t left = 0;
	for (size_t i = 0; i < p->sample_count; i++) {
		uint32_t match = find_in_stack(p, &p->samples[i], matches);
		if (match != 0) {
			if (counts) {
				count_value(p, i, "inuse_objects", &s->rows[match - 1].objects);
				count_value(p, i, "inuse_space", &s->rows[match - 1].bytes);
			}
			continue;
		}
		mw_profile_move_sample(p, left++, i);
	}
	p->sample_count = left;
	free(matches);
}
