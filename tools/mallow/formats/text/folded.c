/* SPDX-License-Identifier: MIT
 * folded.c -- reads folded stacks, the input of flame graph scripts and the output of `mallow
 * collapsed`.  A line holds one stack: functions from the outermost to the leaf, separated by
 * ';', then blanks or tabs, and a number, which may have decimals and may be negative: it is where
 * `mallow collapsed --base` subtracts more than there is.  A file in which each line has two
 * numbers compares two profiles (difffolded.pl): the types "before" and "after".  Empty lines and
 * lines that begin with '#' are skipped. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/lines.h"
#include "formats/text/text_formats.h"
#include "model/memory.h"

/* Bytes that are searched for characters of a binary format. */
#define LOOK_BYTES 4096

/* A line: the stack ends before the number. */
typedef struct parts {
	const char *stack_end, *number;             /* of a stack with one number */
	const char *first_stack_end, *first_number; /* of one with two; NULL = there is one */
} parts_t;

/* Returns whether all of the word is a number: digits, perhaps with a sign, decimals or an
 * exponent. Those with an exponent are refused later, with a line that says so. */
static bool is_number(const char *at, const char *end) {
	at += at < end && *at == '-';
	const char *digits = at;
	while (at < end && isdigit((unsigned char)*at))
		at++;
	if (at == digits)
		return false;
	if (end - at > 1 && *at == '.' && isdigit((unsigned char)at[1]))
		for (at++; at < end && isdigit((unsigned char)*at);)
			at++;
	if (end - at > 1 && (*at == 'e' || *at == 'E')) {
		at += end - at > 2 && (at[1] == '-' || at[1] == '+') ? 2 : 1;
		while (at < end && isdigit((unsigned char)*at))
			at++;
	}
	return at == end;
}

/* Finds the number that ends at `end` and is preceded by blanks. Returns the end of what precedes
 * the blanks, or NULL. */
static const char *take_last(const char *line, const char *end, const char **number) {
	const char *at = end;
	while (at > line && at[-1] != ' ' && at[-1] != '\t')
		at--;
	const char *stack_end = at;
	while (stack_end > line && (stack_end[-1] == ' ' || stack_end[-1] == '\t'))
		stack_end--;
	if (stack_end == at || stack_end == line || !is_number(at, end))
		return NULL;
	*number = at;
	return stack_end;
}

/* False: the line has another form. */
static bool split(const char *line, const char *end, parts_t *parts) {
	while (end > line && isspace((unsigned char)end[-1]))
		end--;
	parts->stack_end = take_last(line, end, &parts->number);
	if (parts->stack_end == NULL)
		return false;
	parts->first_stack_end = take_last(line, parts->stack_end, &parts->first_number);
	return true;
}

/* Whether the line holds a stack. */
static bool is_content(const char *line) {
	const char *at = mw_skip_blanks(line);
	return *at != '\n' && *at != '\0' && *line != '#';
}

bool mw_is_folded(const char *bytes, size_t length) {
	size_t look = length < LOOK_BYTES ? length : LOOK_BYTES;
	for (size_t i = 0; i < look; i++)
		if ((unsigned char)bytes[i] < ' ' && !isspace((unsigned char)bytes[i]))
			return false;
	mw_lines_t lines = mw_lines_of(NULL, "", bytes, length, NULL);
	parts_t parts;
	const char *line = mw_lines_next(&lines);
	while (line != NULL && !is_content(line))
		line = mw_lines_next(&lines);
	return line != NULL && split(line, lines.at, &parts);
}

/* Folded stacks have no addresses, so each function is one location. */
typedef struct folded {
	mw_lines_t lines;
	uint32_t *locations; /* locations[i]: location of function i */
	size_t capacity;
	bool has_two;            /* each line has two numbers */
	double sum, rounded_sum; /* of all numbers without signs, as they are and as whole ones */
	bool has_decimals;
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

/* Largest number that is read; the sum of all may be twice as large. */
#define NUMBER_MAX ((int64_t)1 << 62)
#define SUM_MAX 0x1p63

/* Reads the number as a whole one. */
static int take_whole(folded_t *f, const char *number, int64_t *value) {
	bool is_negative = *number == '-';
	double decimals = 0, place = 0.1;
	number += is_negative;
	mw_take_number(&number, value);
	f->has_decimals |= *number == '.';
	for (number += *number == '.'; isdigit((unsigned char)*number); number++, place /= 10)
		decimals += place * (*number - '0');
	if (*number == 'e' || *number == 'E')
		return mw_lines_refuse(&f->lines, "its number has an exponent; write it in digits");
	if (*value > NUMBER_MAX)
		return mw_lines_refuse(&f->lines, "its number is above 2^62");
	f->sum += (double)*value + decimals;
	*value += decimals >= 0.5;
	f->rounded_sum += (double)*value;
	if (f->rounded_sum >= SUM_MAX)
		return mw_lines_refuse(&f->lines,
				       "the numbers up to here add up to more than 2^63");
	if (is_negative)
		*value = -*value;
	return 0;
}

static int take_line(folded_t *f, const char *line, const char *end) {
	mw_lines_t *r = &f->lines;
	parts_t parts;
	if (!split(line, end, &parts))
		return mw_lines_damaged(r, "this is not a stack followed by a number");
	if (r->profile->sample_count == MW_READ_ENTRIES_MAX)
		return mw_lines_damaged(r, "it has more stacks than any profile has");
	r->frame_count = 0;
	/* Goes from the leaf, which is the last name on the line, to the outermost function. */
	for (const char *at = f->has_two ? parts.first_stack_end : parts.stack_end; at > line;) {
		const char *name = memrchr(line, ';', (size_t)(at - line));
		name = name != NULL ? name + 1 : line;
		if (r->frame_count == MW_READ_DEPTH_MAX)
			return mw_lines_damaged(r, "a stack is deeper than 32768 frames");
		r->frames = mw_grow(r->frames, &r->frame_capacity, r->frame_count + 1,
				    sizeof(uint32_t));
		r->frames[r->frame_count++] = location_of(f, name, (size_t)(at - name));
		at = name > line ? name - 1 : line;
	}
	int64_t values[2] = {0};
	if (take_whole(f, parts.number, &values[f->has_two]) != 0 ||
	    (f->has_two && take_whole(f, parts.first_number, &values[0]) != 0))
		return -1;
	mw_profile_add_sample(r->profile, r->frames, r->frame_count, values, NULL, 0);
	return 0;
}

/* Whether each line has two numbers. A name may end with a blank and digits, but not each. */
static bool has_two_numbers(mw_lines_t lines) {
	parts_t parts;
	bool has_line = false;
	for (const char *line; (line = mw_lines_next(&lines)) != NULL;) {
		if (!is_content(line))
			continue;
		has_line = true;
		if (!split(line, lines.at, &parts) || parts.first_stack_end == NULL)
			return false;
	}
	return has_line;
}

/* Most that rounding may change the sum by, as a part of it. */
#define ROUNDING_MAX 0.01

int mw_read_folded(mw_profile_t *p, const char *name, const char *bytes, size_t length,
		   mw_error_t *error) {
	folded_t f = {.lines = mw_lines_of(p, name, bytes, length, error)};
	p->origin.format = mw_profile_intern(p, "folded stacks");
	f.has_two = has_two_numbers(f.lines);
	if (f.has_two)
		mw_profile_add_type(p, "before", "count");
	p->default_type =
		(uint32_t)mw_profile_add_type(p, f.has_two ? "after" : "samples", "count");
	int result = 0;
	for (const char *line; result == 0 && (line = mw_lines_next(&f.lines)) != NULL;)
		if (is_content(line))
			result = take_line(&f, line, f.lines.at);
	if (result == 0 && f.has_decimals && fabs(f.sum - f.rounded_sum) > ROUNDING_MAX * f.sum)
		result = mw_error_set(error,
				      "%s: its numbers have decimals that count, and a profile has "
				      "whole numbers; multiply all of them by 1000",
				      name);
	free(f.locations);
	free(f.lines.frames);
	return result;
}
