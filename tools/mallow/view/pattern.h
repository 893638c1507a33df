/* SPDX-License-Identifier: MIT
 * pattern.h -- regular expressions as pprof's users write them.
 * Layer: tools/view.  Perl's syntax, of which pprof's (RE2) is nearly a subset; unanchored. */
#ifndef MW_TOOL_VIEW_PATTERN_H
#define MW_TOOL_VIEW_PATTERN_H

#include <stdbool.h>

#include "model/error.h"

typedef struct mw_pattern mw_pattern_t;

/* 0: the caller frees *out.  `text` NULL or "": *out is NULL.  `option` names it in the error. */
int mw_pattern_make(const char *option, const char *text, mw_pattern_t **out, mw_error_t *error);
void mw_pattern_free(mw_pattern_t *pattern);

/* A text on which the engine gives up (it bounds its work) does not match. */
bool mw_pattern_matches(const mw_pattern_t *pattern, const char *text);

#endif
