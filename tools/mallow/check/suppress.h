/* SPDX-License-Identifier: MIT
 * suppress.h -- leaves stacks out that somebody knows of: LeakSanitizer's suppression files.
 * Layer: tools/check.  A line is "leak:PATTERN"; empty lines and those that begin with '#' count
 * for nothing.  A pattern is found anywhere in the name of a function, source file or module; '*'
 * stands for anything, '^' and '$' for the name's ends. */
#ifndef MW_TOOL_CHECK_SUPPRESS_H
#define MW_TOOL_CHECK_SUPPRESS_H

#include <stddef.h>

#include "model/error.h"
#include "model/profile.h"

typedef struct mw_suppression {
	char *pattern;
	int64_t objects, bytes; /* in use, that it left out */
} mw_suppression_t;

/* Zeroed is empty. */
typedef struct mw_suppressions {
	mw_suppression_t *rows;
	size_t count, capacity;
} mw_suppressions_t;

/* Adds those of a file. */
int mw_suppressions_read(mw_suppressions_t *suppressions, const char *path, mw_error_t *error);
/* Adds those of a text; `name` is for messages. */
int mw_suppressions_parse(mw_suppressions_t *suppressions, const char *name, const char *text,
			  mw_error_t *error);
void mw_suppressions_release(mw_suppressions_t *suppressions);

/* Removes the samples with a frame that matches; the first that does counts them when `counts`. */
void mw_suppress(mw_suppressions_t *suppressions, mw_profile_t *profile, bool counts);

/* Is `pattern` found in `text`? */
bool mw_suppression_matches(const char *pattern, const char *text);

#endif
