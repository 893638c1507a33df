/* SPDX-License-Identifier: MIT
 * folded.c -- reads folded stacks, the input of flame graph scripts and the output of `mallow
 * collapsed`.  A line holds one stack: functions from the outermost to the leaf, separated by
 * ';', and a number. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/lines.h"
#include "formats/text/text_formats.h"
#include "model/memory.h"

/* Bytes that are searched for characters of a binary format. */
#define LOOK_BYTES 4096

/* Finds the number at the end of a line and the end of the stack before it.  False: the line has
 * another form. */
static bool split(const char *line, const char *end, const char **stack_end, int64_t *value) {
	while (end > line && isspace((unsigned char)end[-1]))
		end--;
	const char *digits = end;
	while (digits > line && isdigit((unsigned char)digits[-1]))
		digits--;
	if (digits == end || digits - 1 <= line || digits[-1] != ' ')
		return false;
	*stack_end = digits - 1;
	return mw_take_number(&digits, value);
}

bool mw_is_folded(const char *bytes, size_t length) {
	size_t look = length < LOOK_BYTES ? length : LOOK_BYTES;
	for (size_t i = 0; i < look; i++)
		if ((unsigned char)bytes[i] < ' ' && !isspace((unsigned char)bytes[i]))
			return false;
	const char *newline = memchr(bytes, '\n', length), *stack_end;
	int64_t value;
	return split(bytes, newline != NULL ? newline : bytes + length, &stack_end, &value);
}

/* Folded stacks have no addresses, so each function is one location. */
typedef struct folded {
	mw_lines_t lines;
	uint32_t *locations; /* locations[i]: location of function i */
	size_t capacity;
} folded_t;

static uint32_t location_of(folded_t *f, const char *name, size_t length) {
	mw_profile_t *p = f->lines.profile;
	mw_function_t function = {.name = mw_profile_intern_bytes(p, name, length)};
	function.system_name = function.name;
	uint32_t number = mw_profile_add_function(p, &function);
	f->locations = mw_grow(f->locations, &f->capacity, (size_t)number + 1, sizeof(uint32_t));
	if (f->locations[number] == 0) {
		f->locations[number] = mw_profile_append_location(p, 0, 0, false);
		mw_profile_set_lines(p, f->locations[number], &(mw_line_t){.function = number}, 1);
	}
	return f->locations[number];
}

static int take_line(folded_t *f, const char *line, const char *end) {
	mw_lines_t *r = &f->lines;
	const char *stack_end;
	int64_t value;
	if (!split(line, end, &stack_end, &value))
		return mw_lines_damaged(r, "this is not a stack followed by a number");
	if (r->profile->sample_count == MW_READ_ENTRIES_MAX)
		return mw_lines_damaged(r, "it has more stacks than any profile has");
	r->frame_count = 0;
	/* Goes from the leaf, which is the last name on the line, to the outermost function. */
	for (const char *at = stack_end; at > line;) {
		const char *name = memrchr(line, ';', (size_t)(at - line));
		name = name != NULL ? name + 1 : line;
		if (r->frame_count == MW_READ_DEPTH_MAX)
			return mw_lines_damaged(r, "a stack is deeper than 32768 frames");
		r->frames = mw_grow(r->frames, &r->frame_capacity, r->frame_count + 1,
				    sizeof(uint32_t));
		r->frames[r->frame_count++] = location_of(f, name, (size_t)(at - name));
		at = name > line ? name - 1 : line;
	}
	mw_profile_add_sample(r->profile, r->frames, r->frame_count, &value, NULL, 0);
	return 0;
}

int mw_read_folded(mw_profile_t *p, const char *name, const char *bytes, size_t length,
		   mw_error_t *error) {
	folded_t f = {.lines = mw_lines_of(p, name, bytes, length, error)};
	p->origin.format = mw_profile_intern(p, "folded stacks");
	mw_profile_add_type(p, "samples", "count");
	int result = 0;
	for (const char *line; result == 0 && (line = mw_lines_next(&f.lines)) != NULL;)
		if (*line != '\n' && *line != '\r')
			result = take_line(&f, line, f.lines.at);
	free(f.locations);
	free(f.lines.frames);
	return result;
}
