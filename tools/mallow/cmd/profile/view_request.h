/* SPDX-License-Identifier: MIT
 * view_request.h -- what a view's command line asks for: the view, the picture, the file.
 * Layer: cmd/profile.  Private to this folder. */
#ifndef MW_TOOL_CMD_PROFILE_VIEW_REQUEST_H
#define MW_TOOL_CMD_PROFILE_VIEW_REQUEST_H

#include "cli/options.h"
#include "cmd/profile/output_file.h"
#include "model/error.h"
#include "view/common/view.h"

/* A row of views.def. */
typedef struct mw_view_row {
	const char *name;
	mw_view_print_t *print;
	const char *type; /* sample type that the view uses unless the user chooses one */
	bool is_whole;    /* small functions are not left out */
	bool needs_labels;
} mw_view_row_t;

/* A command line and its meaning. */
typedef struct mw_view_request {
	const mw_arguments_t *arguments;
	const mw_view_row_t *view;
	const mw_picture_t *picture; /* picture that the output's name asks for; NULL = text */
	const char *path;            /* NULL = stdout */
} mw_view_request_t;

void mw_view_request_make(const mw_arguments_t *arguments, mw_view_request_t *request);
/* Checks whether the words of a command line fit together.  This needs no profile. */
int mw_view_request_check(const mw_view_request_t *request, mw_error_t *error);

/* Returns the number of an option of kind FRACTION; `standard` if it is not given. */
double mw_view_request_number(const mw_fraction_value_t *value, double standard);
bool mw_view_request_is_json(const mw_view_request_t *request);
bool mw_view_request_is_diff(const mw_arguments_t *arguments);
/* Returns the number of words before the targets: a pattern, or the base of a difference. */
unsigned mw_view_request_words(const mw_arguments_t *arguments);
/* Returns the pattern before the targets, for `list` and similar views; NULL = none. */
const char *mw_view_request_pattern(const mw_arguments_t *arguments);

#endif
