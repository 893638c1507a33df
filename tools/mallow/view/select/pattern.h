/* SPDX-License-Identifier: MIT
 * pattern.h -- regular expressions as users of pprof write them.
 * Layer: view/select.  Perl's syntax, which contains nearly all of pprof's (RE2).  A pattern may
 * match any part of a text. */
#ifndef MW_TOOL_VIEW_SELECT_PATTERN_H
#define MW_TOOL_VIEW_SELECT_PATTERN_H

#include <stdbool.h>

#include "model/error.h"

typedef struct mw_pattern mw_pattern_t;

/* Compiles a pattern.  Returns 0: the caller frees *out.  `text` NULL or "": *out is NULL.
 * `option` names the option in the error. */
int mw_pattern_make(const char *option, const char *text, mw_pattern_t **out, mw_error_t *error);
void mw_pattern_free(mw_pattern_t *pattern);

/* True if the pattern matches.  The engine limits its work; a match that exceeds the limit
 * counts as none. */
bool mw_pattern_matches(const mw_pattern_t *pattern, const char *text);

#endif
