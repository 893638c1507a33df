/* SPDX-License-Identifier: MIT
 * lines.h -- reads a text profile line by line; helpers that the text formats share.
 * Layer: formats/text.  Private to this folder.  The text ends with a NUL and is never changed.
 * A line ends at its newline, and the mw_take_ functions stop there. */
#ifndef MW_TOOL_FORMATS_TEXT_LINES_H
#define MW_TOOL_FORMATS_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"

/* A function of a script. The address of a script's frame has its number (state/script_frames.h).
 */
typedef struct mw_numbered_function {
	uint64_t number;
	uint32_t function; /* in the profile */
} mw_numbered_function_t;

/* For qsort(3): by number. */
int mw_compare_numbered(const void *a, const void *b);

/* Title of the functions of scripts, which end a file: lines "KIND NUMBER FIRST_LINE NAME <tab>
 * FILE". */
#define MW_SCRIPT_FUNCTIONS_TITLE "\nSCRIPT_FUNCTIONS:\n"

typedef struct mw_lines {
	mw_profile_t *profile;
	const char *name; /* file name, for messages */
	mw_error_t *error;
	const char *at; /* start of the next line */
	const char *end;
	size_t line_number;
	/* The stack that was read last. */
	uint32_t *frames;
	size_t frame_count, frame_capacity;
	uint32_t named_count;              /* frames of the stack that comments have named */
	mw_numbered_function_t *functions; /* of mw_lines_cut_functions(); the caller frees them */
	size_t function_count;
} mw_lines_t;

/* Starts at the first line.  `bytes` is followed by a NUL. */
static inline mw_lines_t mw_lines_of(mw_profile_t *profile, const char *name, const char *bytes,
				     size_t length, mw_error_t *error) {
	return (mw_lines_t){.profile = profile,
			    .name = name,
			    .error = error,
			    .at = bytes,
			    .end = bytes + length};
}

/* Sets the error "<name>:<line>: <why>..." and returns -1. */
int mw_lines_damaged(const mw_lines_t *lines, const char *why);
/* As mw_lines_damaged(), for a line of the right form that cannot be kept: "<name>:<line>: <why>".
 */
int mw_lines_refuse(const mw_lines_t *lines, const char *why);

bool mw_starts_with(const char *text, const char *start);

/* Moves on to the next line.  Returns the line that begins here, or NULL at the end of the text. */
const char *mw_lines_next(mw_lines_t *lines);
const char *mw_skip_blanks(const char *at);

/* Each function skips blanks and reads one item.  False: there is another item. */
bool mw_take_char(const char **at, char wanted);
/* A decimal number without sign, limited to INT64_MAX. */
bool mw_take_number(const char **at, int64_t *value);
/* As mw_take_number(), and a '-' may precede the number. */
bool mw_take_signed(const char **at, int64_t *value);

/* Returns what follows "I0521 12:03:04.5 77 file.cc:9] ", by which log libraries begin a line;
 * otherwise the line itself. */
const char *mw_skip_log_prefix(const char *line);

/* Reads hexadecimal return addresses up to the end of the line into `frames`. */
int mw_lines_take_stack(mw_lines_t *lines, const char *at);
/* Adds one address to `frames`.  An exact address is not a return address. */
int mw_lines_add_frame(mw_lines_t *lines, uint64_t address, bool is_exact);

/* Reads a comment like "#  0x46b1c0  main.leak+0x60  /src/main.go:5" and names a frame of the
 * last stack.  Go writes one for each frame after a stack (?debug=1).  The stack belongs to the
 * last sample.  Frames without a comment are removed, because Go leaves its runtime's frames
 * out.  Other comments are ignored. */
void mw_lines_take_comment(mw_lines_t *lines, const char *line);

/* Returns a name for a place of which only the file is known: "[libc.so.6]". */
mw_string_t mw_lines_module_name(mw_profile_t *profile, mw_string_t module);

/* Reads the remaining lines as /proc/<pid>/maps, or in pprof's short form: "START-END: PATH" with
 * "@OFFSET BUILDID" behind it or not.  "NAME=VALUE" gives "$NAME" in later lines a value.  Other
 * lines are skipped. */
void mw_lines_take_maps(mw_lines_t *lines);
/* Reads the mappings first, although they come last in the file.  Cuts "MAPPED_LIBRARIES:" or
 * "--- Memory map: ---" and everything after it off the text. */
void mw_lines_cut_mappings(mw_lines_t *lines);
/* Reads the functions of scripts, and cuts them off the text. Frames that are added from then on
 * have function and line if they are of scripts. */
void mw_lines_cut_functions(mw_lines_t *lines);

#endif
