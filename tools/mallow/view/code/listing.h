/* SPDX-License-Identifier: MIT
 * listing.h -- functions that match a pattern, with their source lines and values.
 * Layer: view/code.  Private to this folder. */
#ifndef MW_TOOL_VIEW_CODE_LISTING_H
#define MW_TOOL_VIEW_CODE_LISTING_H

#include <stddef.h>
#include <stdint.h>

#include "view/common/view.h"

typedef struct mw_listed_line {
	int64_t number;
	int64_t flat, cum;
	char *text; /* NULL = the source was not found */
} mw_listed_line_t;

typedef struct mw_listed_function {
	mw_string_t name, file;
	int64_t flat, cum; /* sums over its lines; a stack counts once for each line */
	/* Lines by rising number: lines with a value, and some lines around them. */
	mw_listed_line_t *lines;
	size_t line_count;
	const char *missing; /* why the source is missing, if lines have no text */
} mw_listed_function_t;

typedef struct mw_listing {
	mw_listed_function_t *functions;
	size_t count; /* at least 1 */
	const char *unit;
} mw_listing_t;

/* Finds the functions that match view->pattern.  Returns 0: the caller releases the listing. */
int mw_listing_make(const mw_view_t *view, mw_listing_t *listing, mw_error_t *error);
void mw_listing_release(mw_listing_t *listing);

#endif
