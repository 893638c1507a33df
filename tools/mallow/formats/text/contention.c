/* SPDX-License-Identifier: MIT
 * contention.c -- reads profiles of contended locks: "--- contention", "--- mutex".
 * The file has lines "key = value", then for each stack "delay count @ addresses".  The delay is
 * in cycles.  Delay and count are scaled by the sampling period. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/dropped.h"
#include "formats/text/lines.h"
#include "formats/text/text_formats.h"
#include "model/memory.h"

typedef struct contention {
	mw_lines_t lines;
	int64_t cycles_a_second;
	int64_t period;
} contention_t;

bool mw_is_contention(const char *bytes, size_t length) {
	(void)length; /* The NUL at the end stops the comparison. */
	return mw_starts_with(bytes, "--- contention") || mw_starts_with(bytes, "--- mutex");
}

/* Reads "key = value".  Unknown keys are skipped. */
static int take_setting(contention_t *c, const char *line) {
	const char *equals = strchr(line, '=');
	if (equals == NULL || equals >= c->lines.at)
		return mw_lines_damaged(&c->lines, "this is not a line of a contention profile");
	int64_t value;
	const char *at = equals + 1;
	if (!mw_take_number(&at, &value))
		return mw_lines_damaged(&c->lines, "the value is not a number");
	if (mw_starts_with(line, "cycles/second"))
		c->cycles_a_second = value;
	else if (mw_starts_with(line, "sampling period"))
		c->period = value;
	else if (mw_starts_with(line, "ms since reset") && value < INT64_MAX / 1000000)
		c->lines.profile->duration_ns = value * 1000000;
	return 0;
}

static int64_t scaled(double value) {
	return value < 0x1p62 ? (int64_t)llround(value) : (int64_t)1 << 62;
}

static int take_stack_line(contention_t *c, const char *line) {
	int64_t delay, count;
	if (!mw_take_number(&line, &delay) || !mw_take_number(&line, &count) ||
	    !mw_take_char(&line, '@'))
		return mw_lines_damaged(&c->lines, "this is not a line of a contention profile");
	if (c->cycles_a_second <= 0 || c->period <= 0)
		return mw_lines_damaged(
			&c->lines, "\"cycles/second\" and \"sampling period\" must be above 0");
	mw_profile_t *p = c->lines.profile;
	if (p->sample_count == MW_READ_ENTRIES_MAX)
		return mw_lines_damaged(&c->lines, "it has more stacks than any profile has");
	if (mw_lines_take_stack(&c->lines, line) != 0)
		return -1;
	double seconds = (double)delay / (double)c->cycles_a_second;
	int64_t values[2] = {scaled((double)count * (double)c->period),
			     scaled(seconds * 1e9 * (double)c->period)};
	mw_profile_add_sample(p, c->lines.frames, c->lines.frame_count, values, NULL, 0);
	return 0;
}

int mw_read_contention(mw_profile_t *p, const char *name, const char *bytes, size_t length,
		       mw_error_t *error) {
	/* If the file states no frequency, delays are nanoseconds. */
	contention_t c = {.lines = mw_lines_of(p, name, bytes, length, error),
			  .cycles_a_second = 1000000000,
			  .period = 1};
	p->origin.format = mw_profile_intern(p, "contention profile");
	p->drop_frames = mw_profile_intern(p, MW_DROP_CONTENTION);
	mw_profile_add_type(p, "contentions", "count");
	p->default_type = (uint32_t)mw_profile_add_type(p, "delay", "nanoseconds");
	p->period_type = (mw_value_type_t){mw_profile_intern(p, "contentions"),
					   mw_profile_intern(p, "count")};
	mw_lines_cut_mappings(&c.lines);
	mw_lines_next(&c.lines);
	int result = 0;
	for (const char *line; result == 0 && (line = mw_lines_next(&c.lines)) != NULL;) {
		line = mw_skip_blanks(mw_skip_log_prefix(line));
		if (*line == '#')
			mw_lines_take_comment(&c.lines, line);
		else if (*line >= '0' && *line <= '9')
			result = take_stack_line(&c, line);
		else if (*line != '\n' && *line != '\0' && !mw_starts_with(line, "---"))
			result = take_setting(&c, line);
	}
	p->period = c.period;
	free(c.lines.frames);
	return result;
}
