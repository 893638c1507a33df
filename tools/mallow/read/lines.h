/* SPDX-License-Identifier: MIT
 * lines.h -- a text profile, line by line, and what the text formats have in common.
 * Layer: tools/read.  Private to this folder.  The text ends with a NUL; nothing is written to it:
 * a line goes on to its newline, and the functions that take something stop there. */
#ifndef MW_TOOL_READ_LINES_H
#define MW_TOOL_READ_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"

typedef struct mw_lines {
	mw_profile_t *profile;
	const char *name; /* for messages */
	mw_error_t *error;
	const char *at; /* start of the next line */
	const char *end;
	size_t line_number;
	/* The last stack taken. */
	uint32_t *frames;
	size_t frame_count, frame_capacity;
	uint32_t named_count; /* of its frames, by comments */
} mw_lines_t;

/* At the first line.  `bytes` is followed by a NUL. */
static inline mw_lines_t mw_lines_of(mw_profile_t *profile, const char *name, const char *bytes,
				     size_t length, mw_error_t *error) {
	return (mw_lines_t){.profile = profile,
			    .name = name,
			    .error = error,
			    .at = bytes,
			    .end = bytes + length};
}

/* Sets the error "<name>:<line>: <why>..."; returns -1. */
int mw_lines_damaged(const mw_lines_t *lines, const char *why);

bool mw_starts_with(const char *text, const char *start);

/* Moves on to the next line; returns the one that was next, or NULL at the end. */
const char *mw_lines_next(mw_lines_t *lines);
const char *mw_skip_blanks(const char *at);

/* Each skips blanks first; false: there is something else. */
bool mw_take_char(const char **at, char wanted);
bool mw_take_number(const char **at, int64_t *value); /* decimal, no sign, clamped */

/* The hexadecimal return addresses up to the end of the line become `frames`. */
int mw_lines_take_stack(mw_lines_t *lines, const char *at);
/* The same for one address; an exact one is not a return address. */
int mw_lines_add_frame(mw_lines_t *lines, uint64_t address, bool is_exact);

/* "#  0x46b1c0  main.leak+0x60  /src/main.go:5", of which Go writes one a frame behind a stack (its
 * ?debug=1): gives a frame of the last stack that name.  That is the last sample's; of its frames
 * those are left that have one, as Go leaves out those of its runtime.  Other comments tell
 * nothing. */
void mw_lines_take_comment(mw_lines_t *lines, const char *line);

/* What to call a place of which only the file is known: "[libc.so.6]". */
mw_string_t mw_lines_module_name(mw_profile_t *profile, mw_string_t module);

/* Reads the lines of /proc/<pid>/maps that are left; others are left out. */
void mw_lines_take_maps(mw_lines_t *lines);
/* The mappings come last but are needed first.  Cuts "MAPPED_LIBRARIES:" and what is behind it off
 * the text. */
void mw_lines_cut_mappings(mw_lines_t *lines);

#endif
