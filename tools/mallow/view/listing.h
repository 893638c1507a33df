/* SPDX-License-Identifier: MIT
 * listing.h -- functions that match a pattern, with their source and what each line holds.
 * Layer: tools/view.  Private to this folder. */
#ifndef MW_TOOL_VIEW_LISTING_H
#define MW_TOOL_VIEW_LISTING_H

#include <stddef.h>
#include <stdint.h>

#include "view/view.h"

typedef struct mw_listed_line {
	int64_t number;
	int64_t flat, cum;
	char *text; /* NULL: no source */
} mw_listed_line_t;

typedef struct mw_listed_function {
	mw_string_t name, file;
	int64_t flat, cum; /* sums of its lines': a stack counts once a line it comes through */
	mw_listed_line_t *lines; /* rising; those that hold something and some around them */
	size_t line_count;
} mw_listed_function_t;

typedef struct mw_listing {
	mw_listed_function_t *functions;
	size_t count; /* >= 1 */
	const char *unit;
} mw_listing_t;

/* By view->pattern.  0: the caller releases it. */
int mw_listing_make(const mw_view_t *view, mw_listing_t *listing, mw_error_t *error);
void mw_listing_release(mw_listing_t *listing);

#endif
