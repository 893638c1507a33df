/* SPDX-License-Identifier: MIT
 * view_request.h -- what a view's command line asks for: the view, the picture, the file.
 * Layer: cmd/profile.  Private to this folder. */
#ifndef MW_TOOL_CMD_PROFILE_VIEW_REQUEST_H
#define MW_TOOL_CMD_PROFILE_VIEW_REQUEST_H

#include "cli/options.h"
#include "cmd/profile/output_file.h"
#include "model/error.h"
#include "view/common/view.h"

/* What is particular to a view. */
enum {
	MW_VIEW_WHOLE = 1 << 0,     /* small functions are not left out */
	MW_VIEW_LABELS = 1 << 1,    /* needs the samples' labels */
	MW_VIEW_TABLE = 1 << 2,     /* has as many rows as there are, unless --top says otherwise */
	MW_VIEW_FUNCTIONS = 1 << 3, /* of functions: allocation wrappers count for their callers */
	MW_VIEW_GRAPH = 1 << 4,     /* a call graph to draw */
	MW_VIEW_PICTURE = 1 << 5,   /* has no text, which a file with any other name could hold */
	MW_VIEW_PAGE = 1 << 6,      /* a web page, which is not written to a terminal */
	MW_VIEW_BOTH_KINDS = 1 << 7, /* shows memory and CPU time, whichever is chosen */
	MW_VIEW_PATTERN = 1 << 8,    /* as a picture, too, applies the pattern before the targets */
	MW_VIEW_SERIES = 1 << 9,     /* shows more than two profiles of one process */
	MW_VIEW_PROFILE = 1 << 10,   /* writes a profile; has no function */
	MW_VIEW_SUMMED = 1 << 11,    /* the profile is that of the table of functions */
	MW_VIEW_RAW = 1 << 12,       /* jeprof's output of the name is a profile with names */
	MW_VIEW_LISTING = 1 << 13,   /* of source lines: wrappers count for the lines that call */
	MW_VIEW_STACKS = 1 << 14,    /* of stacks, each shown once for all processors */
};

/* A row of views.def. */
typedef struct mw_view_row {
	const char *name;
	mw_view_print_t *print;
	unsigned flags;   /* MW_VIEW_... */
	const char *type; /* sample type that the view uses unless the user chooses one */
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

/* Returns whether the view has one of the flags. */
static inline bool mw_view_request_has(const mw_view_request_t *request, unsigned flags) {
	return (request->view->flags & flags) != 0;
}
/* Returns the number of an option of kind FRACTION; `standard` if it is not given. */
double mw_view_request_number(const mw_fraction_value_t *value, double standard);
bool mw_view_request_is_json(const mw_view_request_t *request);
bool mw_view_request_is_diff(const mw_arguments_t *arguments);
/* Returns the number of words before the targets: a pattern, or the base of a difference. */
unsigned mw_view_request_words(const mw_arguments_t *arguments);
/* Returns the pattern before the targets, for `list` and similar views; NULL = none. */
const char *mw_view_request_pattern(const mw_arguments_t *arguments);

#endif
