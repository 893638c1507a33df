/* SPDX-License-Identifier: MIT
 * lines.c -- lines, numbers, stacks and mappings of the text formats. */
#include "formats/text/lines.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "state/script_frames.h"

int mw_lines_damaged(const mw_lines_t *r, const char *why) {
	return mw_error_set(r->error, "%s:%zu: %s; the file is damaged or of another format",
			    r->name, r->line_number, why);
}

int mw_lines_refuse(const mw_lines_t *r, const char *why) {
	return mw_error_set(r->error, "%s:%zu: %s", r->name, r->line_number, why);
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

bool mw_take_signed(const char **at, int64_t *value) {
	*at = mw_skip_blanks(*at);
	bool is_negative = **at == '-';
	*at += is_negative;
	if (!isdigit((unsigned char)**at) || !mw_take_number(at, value))
		return false;
	if (is_negative)
		*value = -*value;
	return true;
}

/* Longest begin of a line that a log library writes. */
#define LOG_PREFIX_BYTES 256

const char *mw_skip_log_prefix(const char *line) {
	size_t length = strcspn(line, "[]\n");
	size_t digits = length;
	while (digits > 0 && isdigit((unsigned char)line[digits - 1]))
		digits--;
	bool is_prefix = length < LOG_PREFIX_BYTES && line[length] == ']' && digits < length &&
			 digits > 1 && line[digits - 1] == ':' &&
			 (line[length + 1] == ' ' || line[length + 1] == '\t');
	return is_prefix ? line + length + 2 : line;
}

/* ---- functions of scripts ---- */

int mw_compare_numbered(const void *a, const void *b) {
	uint64_t x = ((const mw_numbered_function_t *)a)->number;
	uint64_t y = ((const mw_numbered_function_t *)b)->number;
	return x < y ? -1 : x > y;
}

static void take_function(mw_lines_t *r, const char *line, size_t *capacity) {
	const char *at = line, *end = line + strcspn(line, "\r\n");
	int64_t kind, number, first_line;
	if (!mw_take_number(&at, &kind) || !mw_take_number(&at, &number) ||
	    !mw_take_number(&at, &first_line) || *at != ' ')
		return;
	const char *name = at + 1, *tab = memchr(name, '\t', (size_t)(end - name));
	if (tab == NULL)
		return;
	mw_function_t function = {
		.name = mw_profile_intern_bytes(r->profile, name, (size_t)(tab - name)),
		.file = mw_profile_intern_bytes(r->profile, tab + 1, (size_t)(end - tab - 1)),
		.start_line = first_line,
	};
	function.system_name = function.name;
	r->functions = mw_grow(r->functions, capacity, r->function_count + 1,
			       sizeof(mw_numbered_function_t));
	r->functions[r->function_count++] = (mw_numbered_function_t){
		.number = (uint64_t)number,
		.function = mw_profile_add_function(r->profile, &function),
	};
}

void mw_lines_cut_functions(mw_lines_t *r) {
	const char *title = memmem(r->at, (size_t)(r->end - r->at), MW_SCRIPT_FUNCTIONS_TITLE,
				   strlen(MW_SCRIPT_FUNCTIONS_TITLE));
	if (title == NULL)
		return;
	mw_lines_t list = *r;
	size_t capacity = 0;
	list.at = title + strlen(MW_SCRIPT_FUNCTIONS_TITLE);
	for (const char *line; (line = mw_lines_next(&list)) != NULL;)
		take_function(&list, line, &capacity);
	if (list.function_count > 0)
		qsort(list.functions, list.function_count, sizeof(mw_numbered_function_t),
		      mw_compare_numbered);
	r->functions = list.functions;
	r->function_count = list.function_count;
	r->end = title + 1;
}

/* Gives a location function and line, if it is of a script whose function is known. */
static void name_script(const mw_lines_t *r, uint32_t location) {
	uint64_t place = r->profile->locations[location].address;
	if (!mw_script_is_module(place) || !mw_profile_is_script(r->profile, location))
		return;
	place &= ((uint64_t)1 << MW_SCRIPT_MODULE_SHIFT) - 1;
	const mw_numbered_function_t wanted = {.number = place >> MW_SCRIPT_LINE_BITS};
	const mw_numbered_function_t *found =
		bsearch(&wanted, r->functions, r->function_count, sizeof(mw_numbered_function_t),
			mw_compare_numbered);
	mw_line_t line = {.line = (int64_t)(place & MW_SCRIPT_LINE_MAX)};
	if (found == NULL)
		return;
	line.function = found->function;
	mw_profile_set_lines(r->profile, location, &line, 1);
}

int mw_lines_add_frame(mw_lines_t *r, uint64_t address, bool is_exact) {
	if (r->frame_count == MW_READ_DEPTH_MAX)
		return mw_lines_damaged(r, "a stack is deeper than 32768 frames");
	/* The address before a return address lies in the call. */
	if (!is_exact && address > 0)
		address--;
	uint32_t mapping = mw_profile_find_mapping(r->profile, address);
	r->frames = mw_grow(r->frames, &r->frame_capacity, r->frame_count + 1, sizeof(uint32_t));
	uint32_t location = mw_profile_add_location(r->profile, mapping, address, is_exact);
	r->frames[r->frame_count++] = location;
	if (r->function_count > 0 && r->profile->locations[location].line_count == 0)
		name_script(r, location);
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

/* Values of "$NAME" in the lines of mappings. */
#define NAMES_MAX 16
#define MAP_LINE_BYTES 4096

typedef struct name_value {
	const char *name, *value; /* in the text; the name begins with '$' in the lines */
	size_t name_length, value_length;
} name_value_t;

typedef struct map_reader {
	name_value_t names[NAMES_MAX];
	size_t name_count;
	char line[MAP_LINE_BYTES]; /* the line with values in the place of names */
} map_reader_t;

/* Returns the value of the name behind a '$'. */
static const name_value_t *find_name(const map_reader_t *m, const char *at) {
	for (size_t i = m->name_count; i > 0; i--)
		if (strncmp(at, m->names[i - 1].name, m->names[i - 1].name_length) == 0)
			return &m->names[i - 1];
	return NULL;
}

/* Copies the line up to `end`, with values in the place of names.  False: it is too long. */
static bool expand(map_reader_t *m, const char *line, const char *end) {
	size_t used = 0;
	while (line < end && used < sizeof(m->line)) {
		const name_value_t *found = *line == '$' ? find_name(m, line + 1) : NULL;
		const char *from = found != NULL ? found->value : line;
		size_t length = found != NULL ? found->value_length : 1;
		if (length >= sizeof(m->line) - used)
			return false;
		memcpy(m->line + used, from, length);
		used += length;
		line += found != NULL ? found->name_length + 1 : 1;
	}
	m->line[used < sizeof(m->line) ? used : sizeof(m->line) - 1] = '\0';
	return used < sizeof(m->line);
}

/* Keeps "NAME=VALUE". */
static void take_name_value(map_reader_t *m, const char *line, const char *end) {
	line = mw_skip_blanks(line);
	const char *equals = memchr(line, '=', (size_t)(end - line));
	if (equals == NULL || equals == line || m->name_count == NAMES_MAX)
		return;
	const char *value = mw_skip_blanks(equals + 1), *name_end = equals;
	while (name_end > line && isspace((unsigned char)name_end[-1]))
		name_end--;
	while (end > value && isspace((unsigned char)end[-1]))
		end--;
	if (end >= value)
		m->names[m->name_count++] = (name_value_t){line, value, (size_t)(name_end - line),
							   (size_t)(end - value)};
}

/* Reads "START-END" with or without "0x".  False: the line has another form. */
static bool take_range(const char **at, mw_mapping_t *mapping) {
	char *end;
	const char *begin = mw_skip_blanks(*at);
	mapping->start = strtoull(begin, &end, 16);
	if (end == begin || *begin == '-' || *end != '-')
		return false;
	begin = end + 1;
	mapping->limit = strtoull(begin, &end, 16);
	*at = end;
	return end != begin && mapping->limit > mapping->start;
}

/* Skips "r-xp ".  Returns 1 for rights to execute, 0 for others, -1 if there are none. */
static int take_rights(const char **at) {
	const char *word = mw_skip_blanks(*at);
	size_t length = strspn(word, "-rwxps");
	if (length < 3 || (word[length] != ' ' && word[length] != '\t'))
		return -1;
	*at = word + length;
	return memchr(word, 'x', length) != NULL;
}

/* Cuts the path's end off and keeps it. */
static void take_path(mw_profile_t *p, mw_mapping_t *mapping, const char *path, const char *end) {
	static const char deleted[] = " (deleted)";
	while (end > path && isspace((unsigned char)end[-1]))
		end--;
	if (end - path > (ptrdiff_t)strlen(deleted) &&
	    memcmp(end - strlen(deleted), deleted, strlen(deleted)) == 0)
		end -= strlen(deleted);
	if (path >= end)
		return;
	mapping->path = mw_profile_intern_bytes(p, path, (size_t)(end - path));
	mw_profile_add_mapping(p, mapping);
}

/* Reads "PATH", "PATH @OFFSET" or "PATH @OFFSET BUILDID". */
static void take_short_form(mw_profile_t *p, mw_mapping_t *mapping, const char *path) {
	path = mw_skip_blanks(path);
	const char *end = path + strlen(path), *at = strstr(path, " @");
	if (at != NULL && isxdigit((unsigned char)at[2])) {
		char *number_end;
		mapping->offset = strtoull(at + 2, &number_end, 16);
		const char *id = mw_skip_blanks(number_end);
		mapping->build_id = mw_profile_intern_bytes(p, id, strspn(id, "0123456789abcdef"));
		end = at;
	}
	take_path(p, mapping, path, end);
}

/* Reads "OFFSET DEVICE:NUMBER INODE PATH".  False: the line has another form. */
static bool take_long_form(mw_profile_t *p, mw_mapping_t *mapping, const char *at) {
	char *end;
	const char *number = mw_skip_blanks(at);
	mapping->offset = strtoull(number, &end, 16);
	const char *path = mw_skip_blanks(end);
	if (end == number || path == end || strspn(path, "0123456789abcdefABCDEF:") == 0)
		return false;
	/* Skips device and inode. */
	for (int field = 0; field < 2; field++) {
		path = mw_skip_blanks(path);
		while (*path != '\0' && *path != ' ' && *path != '\t')
			path++;
	}
	path = mw_skip_blanks(path);
	take_path(p, mapping, path, path + strlen(path));
	return true;
}

/* Adds the mapping of a line, unless it has rights and none to execute.  False: the line has
 * another form. */
static bool take_mapping(mw_profile_t *p, const char *line) {
	mw_mapping_t mapping = {0};
	if (!take_range(&line, &mapping))
		return false;
	bool has_colon = *line == ':';
	line += has_colon;
	int rights = take_rights(&line);
	if (rights == 0 || (!has_colon && rights == 1 && take_long_form(p, &mapping, line)))
		return true;
	take_short_form(p, &mapping, line);
	return true;
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
	map_reader_t *m = mw_xcalloc(1, sizeof(*m));
	for (const char *line; (line = mw_lines_next(r)) != NULL;) {
		const char *end = r->at > line && r->at[-1] == '\n' ? r->at - 1 : r->at;
		const char *text = mw_skip_log_prefix(line);
		if (expand(m, text < end ? text : line, end) && !take_mapping(r->profile, m->line))
			take_name_value(m, text, end);
	}
	free(m);
}

/* Returns the first line that is a title of the mappings, or NULL. */
static const char *find_title(const mw_lines_t *r) {
	static const char *const titles[] = {"MAPPED_LIBRARIES:", "--- Memory map: ---"};
	const char *first = NULL;
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
		const char *end = first != NULL ? first : r->end;
		for (const char *at = r->at; at < end; at++) {
			at = memmem(at, (size_t)(end - at), titles[i], strlen(titles[i]));
			if (at == NULL)
				break;
			/* Only blanks and what a log library writes may precede a title. */
			size_t before = (size_t)(at - r->at);
			size_t look = before < LOG_PREFIX_BYTES ? before : LOG_PREFIX_BYTES;
			const char *line = memrchr(at - look, '\n', look);
			if (line != NULL && mw_skip_blanks(mw_skip_log_prefix(line + 1)) == at) {
				first = line + 1;
				break;
			}
		}
	}
	return first;
}

void mw_lines_cut_mappings(mw_lines_t *r) {
	const char *found = find_title(r);
	if (found == NULL)
		return;
	mw_lines_t maps = *r;
	maps.at = found;
	mw_lines_next(&maps);
	mw_lines_take_maps(&maps);
	r->end = found;
}
