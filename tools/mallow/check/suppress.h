/* SPDX-License-Identifier: MIT
 * suppress.h -- removes stacks that a suppression file lists (LeakSanitizer's format).
 * Layer: check.  A line is "leak:PATTERN"; empty lines and lines that begin with '#' are
 * skipped.  A pattern may match any part of the name of a function, source file or module. '*'
 * matches any text, '^' the beginning of the name, '$' the end. */
#ifndef MW_TOOL_CHECK_SUPPRESS_H
#define MW_TOOL_CHECK_SUPPRESS_H

#include <stddef.h>

#include "model/error.h"
#include "model/profile.h"

typedef struct mw_suppression {
	char *pattern;
	int64_t objects, bytes; /* objects and bytes in use that the suppression removed */
} mw_suppression_t;

/* A zeroed list is empty. */
typedef struct mw_suppressions {
	mw_suppression_t *rows;
	size_t count, capacity;
} mw_suppressions_t;

/* Adds the suppressions of a file. */
int mw_suppressions_read(mw_suppressions_t *suppressions, const char *path, mw_error_t *error);
/* Adds the suppressions of a text.  `name` appears in messages. */
int mw_suppressions_parse(mw_suppressions_t *suppressions, const char *name, const char *text,
			  mw_error_t *error);
void mw_suppressions_release(mw_suppressions_t *suppressions);

/* Removes the samples with a frame that matches a suppression.  If `counts`, the first matching
 * suppression counts the removed memory. */
void mw_suppress(mw_suppressions_t *suppressions, mw_profile_t *profile, bool counts);

/* True if `pattern` matches a part of `text`. */
bool mw_suppression_matches(const char *pattern, const char *text);
/* True if `pattern` matches a function, source file or the module of a location. */
bool mw_suppression_matches_location(const mw_profile_t *profile, uint32_t location,
				     const char *pattern);

#endif
