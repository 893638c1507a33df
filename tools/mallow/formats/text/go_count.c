/* SPDX-License-Identifier: MIT
 * go_count.c -- reads Go's profiles that count stacks, as text: /debug/pprof/goroutine?debug=1.
 * "goroutine profile: total 7", then for each stack "count @ addresses" and one comment for each
 * frame. */
#include <stdlib.h>
#include <string.h>

#include "formats/text/lines.h"
#include "formats/text/text_formats.h"
#include "model/memory.h"

/* Returns the end of the name at the beginning, before " profile: total "; NULL: the text has
 * another form. */
static const char *name_end(const char *bytes) {
	const char *end = bytes + strcspn(bytes, " \t\r\n");
	return end != bytes && mw_starts_with(end, " profile: total ") ? end : NULL;
}

bool mw_is_go_count(const char *bytes, size_t length) {
	(void)length; /* The NUL at the end stops the comparison. */
	return name_end(bytes) != NULL;
}

static int take_stack_line(mw_lines_t *r, const char *line) {
	int64_t count;
	if (!mw_take_number(&line, &count) || !mw_take_char(&line, '@'))
		return mw_lines_damaged(r, "this is not a count followed by a stack");
	if (r->profile->sample_count == MW_READ_ENTRIES_MAX)
		return mw_lines_damaged(r, "it has more stacks than any profile has");
	if (mw_lines_take_stack(r, line) != 0)
		return -1;
	mw_profile_add_sample(r->profile, r->frames, r->frame_count, &count, NULL, 0);
	return 0;
}

int mw_read_go_count(mw_profile_t *p, const char *name, const char *bytes, size_t length,
		     mw_error_t *error) {
	mw_lines_t lines = mw_lines_of(p, name, bytes, length, error);
	mw_string_t kind = mw_profile_intern_bytes(p, bytes, (size_t)(name_end(bytes) - bytes));
	p->origin.format = mw_profile_intern(p, "Go's counts of stacks");
	mw_profile_add_type(p, mw_profile_string(p, kind), "count");
	p->period_type = (mw_value_type_t){kind, mw_profile_intern(p, "count")};
	p->period = 1;
	mw_lines_cut_mappings(&lines);
	mw_lines_next(&lines);
	int result = 0;
	for (const char *line; result == 0 && (line = mw_lines_next(&lines)) != NULL;) {
		line = mw_skip_blanks(line);
		if (*line == '#')
			mw_lines_take_comment(&lines, line);
		else if (*line != '\n' && *line != '\r' && *line != '\0')
			result = take_stack_line(&lines, line);
	}
	free(lines.frames);
	return result;
}
