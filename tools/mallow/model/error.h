/* SPDX-License-Identifier: MIT
 * error.h -- how functions of the command report a failure.
 * Layer: model.  A function that can fail returns 0 or -1.  With -1 it fills in the caller's
 * mw_error_t, which may be NULL: one lower-case line without a trailing newline, "<what failed>:
 * <why>; <what to do>".  The command prints "mallow: " before the line. */
#ifndef MW_TOOL_MODEL_ERROR_H
#define MW_TOOL_MODEL_ERROR_H

#include "base/compiler.h"

typedef struct mw_error {
	char text[512];
} mw_error_t;

/* Formats the message into `error` and returns -1, for use as `return mw_error_set(error, ...)`.
 * Unsafe characters (model/text.h) become '?'. */
int mw_error_set(mw_error_t *error, const char *format, ...) MW_PRINTF(2, 3);

#endif
