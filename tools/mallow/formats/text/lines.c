/* SPDX-License-Identifier: MIT
 * lines.c -- lines, numbers, stacks and mappings of the text formats. */
#include "formats/text/lines.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

int mw_lines_damaged(const mw_lines_t *r, const char *why) {
	return mw_error_set(r->error, "%s:%zu: %s; the file is damaged or of another format",
			    r->name, r->line_number, why);
}

bool mw_starts_with(const char *text, const char *start) {
	return strncmp(text, start, strlen(start)) == 0;
}

const char *mw_lines_next(mw_lines_t *r) {
	if (r->at >= r->end)
		return NULL;
	const char *line = r->at;
	const char *newline = memchr(line, '\n', (size_t)(r->end - line));
	r->at = newline != NULL ? newline + 1 : r->end;
	r->line_number++;
	return line;
}

const char *mw_skip_blanks(const char *at) {
	while (*at == ' ' || *at == '\t' || *at == '\r')
		at++;
	return at;
}

bool mw_take_char(const char **at, char wanted) {
	*at = mw_skip_blanks(*at);
	if (**at != wanted)
		return false;
	(*at)++;
	return true;
}

bool mw_take_number(const char **at, int64_t *value) {
	*at = mw_skip_blanks(*at);
	if (!isdigit((unsigned char)**at))
		return false;
	char *end;
	errno = 0;
	unsigned long long number = strtoull(*at, &end, 10);
	*value = errno != 0 || number > INT64_MAX ? INT64_MAX : (int64_t)number;
	*at = end;
	return true;
}

int mw_lines_add_frame(mw_lines_t *r, uint64_t address, bool is_exact) {
	if (r->frame_count == MW_READ_DEPTH_MAX)
		return mw_lines_damaged(r, "a stack is deeper than 32768 frames");
	/* The address before a return address lies in the call. */
	if (!is_exact && address > 0)
		address--;
	uint32_t mapping = mw_profile_find_mapping(r->profile, address);
	r->frames = mw_grow(r->frames, &r->frame_capacity, r->frame_count + 1, sizeof(uint32_t));
	r->frames[r->frame_count++] =
		mw_profile_add_location(r->profile, mapping, address, is_exact);
	return 0;
}

int mw_lines_take_stack(mw_lines_t *r, const char *at) {
	r->frame_count = r->named_count = 0;
	for (at = mw_skip_blanks(at); *at != '\n' && *at != '\0'; at = mw_skip_blanks(at)) {
		char *end;
		errno = 0;
		uint64_t address = strtoull(at, &end, 16);
		if (end == at || errno != 0 || *at == '-' || *at == '+')
			return mw_lines_damaged(r, "an address of a stack is not a number");
		at = end;
		if (mw_lines_add_frame(r, address, false) != 0)
			return -1;
	}
	return 0;
}

/* Reads the function and source of a comment: "main.leak+0x60", blanks, "/src/main.go:5". */
static mw_line_t take_name(mw_profile_t *p, const char *name) {
	size_t length = strcspn(name, "\t\r\n");
	const char *file = mw_skip_blanks(name + length);
	const char *plus = memrchr(name, '+', length);
	size_t file_length = strcspn(file, "\r\n");
	const char *colon = memrchr(file, ':', file_length);
	mw_line_t line = {0};
	const char *digits = colon != NULL ? colon + 1 : NULL;
	if (colon != NULL && mw_take_number(&digits, &line.line))
		file_length = (size_t)(colon - file);
	mw_function_t function = {.name = mw_profile_intern_bytes(
					  p, name, plus != NULL ? (size_t)(plus - name) : length),
				  .file = mw_profile_intern_bytes(p, file, file_length)};
	function.system_name = function.name;
	line.function = mw_profile_add_function(p, &function);
	return line;
}

void mw_lines_take_comment(mw_lines_t *r, const char *line) {
	mw_profile_t *p = r->profile;
	const char *at = mw_skip_blanks(line + 1);
	char *end;
	if (!mw_starts_with(at, "0x") || p->sample_count == 0)
		return;
	uint64_t address = strtoull(at, &end, 16);
	uint32_t location = 0;
	for (size_t i = 0; i < r->frame_count && location == 0; i++)
		if (p->locations[r->frames[i]].address == address)
			location = r->frames[i];
	mw_sample_t *sample = &p->samples[p->sample_count - 1];
	if (location == 0 || end == at || r->named_count == r->frame_count)
		return;
	if (p->locations[location].line_count == 0) {
		const mw_line_t name = take_name(p, mw_skip_blanks(end));
		mw_profile_set_lines(p, location, &name, 1);
	}
	p->frames[sample->frame_first + r->named_count++] = location;
	sample->depth = r->named_count;
}

/* Adds the mapping of a line of /proc/<pid>/maps.  Other lines are skipped. */
static void take_mapping(mw_lines_t *r, const char *line, const char *end) {
	char *at;
	mw_mapping_t mapping = {.start = strtoull(line, &at, 16)};
	if (at == line || *at != '-')
		return;
	mapping.limit = strtoull(at + 1, &at, 16);
	const char *access = mw_skip_blanks(at);
	if (end - access < 5 || access[2] != 'x')
		return;
	mapping.offset = strtoull(access + 4, &at, 16);
	const char *path = at;
	/* Skips device and inode. */
	for (int field = 0; field < 2; field++) {
		path = mw_skip_blanks(path);
		while (path < end && *path != ' ' && *path != '\t')
			path++;
	}
	path = mw_skip_blanks(path);
	static const char deleted[] = " (deleted)";
	while (end > path && isspace((unsigned char)end[-1]))
		end--;
	if (end - path > (ptrdiff_t)strlen(deleted) &&
	    memcmp(end - strlen(deleted), deleted, strlen(deleted)) == 0)
		end -= strlen(deleted);
	if (path < end && mapping.limit > mapping.start) {
		mapping.path = mw_profile_intern_bytes(r->profile, path, (size_t)(end - path));
		mw_profile_add_mapping(r->profile, &mapping);
	}
}

mw_string_t mw_lines_module_name(mw_profile_t *p, mw_string_t module) {
	const char *path = mw_profile_string(p, module);
	const char *slash = strrchr(path, '/');
	char name[256];
	snprintf(name, sizeof(name), "[%.250s]",
		 *path == '\0'   ? "unknown"
		 : slash != NULL ? slash + 1
				 : path);
	return mw_profile_intern(p, name);
}

void mw_lines_take_maps(mw_lines_t *r) {
	for (const char *line; (line = mw_lines_next(r)) != NULL;)
		take_mapping(r, line, r->at);
}

void mw_lines_cut_mappings(mw_lines_t *r) {
	static const char title[] = "\nMAPPED_LIBRARIES:";
	const char *found = memmem(r->at, (size_t)(r->end - r->at), title, strlen(title));
	if (found == NULL)
		return;
	mw_lines_t maps = *r;
	maps.at = found + 1;
	mw_lines_next(&maps);
	mw_lines_take_maps(&maps);
	r->end = found + 1;
}
