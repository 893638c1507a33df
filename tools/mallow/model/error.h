/* SPDX-License-Identifier: MIT
 * error.h -- how the tool's modules say what went wrong.
 * Layer: tools/model.  A function that can fail returns 0 or -1 and, with -1, fills in the caller's
 * mw_error_t (which may be NULL): one lower-case line without a trailing newline,
 * "<what>: <why>; <what to do>".  The command puts "mallow: " before it. */
#ifndef MW_TOOL_MODEL_ERROR_H
#define MW_TOOL_MODEL_ERROR_H

#include "base/compiler.h"

typedef struct mw_error {
	char text[512];
} mw_error_t;

/* Formats into `error` and returns -1, so that `return mw_error_set(error, ...)` reads well.
 * Control characters (paths may hold them) come out as '?'. */
int mw_error_set(mw_error_t *error, const char *format, ...) MW_PRINTF(2, 3);

#endif
