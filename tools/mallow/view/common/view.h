/* SPDX-License-Identifier: MIT
 * view.h -- the input of every view: a profile that is selected and symbolized, and how to print
 * it.
 * Layer: view/common.  The folder's door.  The views themselves are declared in
 * view/table/tables.h, view/picture/pictures.h and view/code/listings.h. values.h, json.h and
 * web_page.h write text, JSON and pages for all views. */
#ifndef MW_TOOL_VIEW_COMMON_VIEW_H
#define MW_TOOL_VIEW_COMMON_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "model/error.h"
#include "model/profile.h"
#include "symbol/code/code.h"
#include "symbol/symbolize.h"
#include "view/graph/graph.h"
#include "view/select/selection.h"

typedef struct mw_view {
	const char *name; /* the subcommand's name */
	const mw_profile_t *profile;
	FILE *out;
	size_t type;   /* index of the sample type */
	int64_t total; /* value that percentages refer to */
	int64_t sum;   /* signed sum of all values before the selection */
	/* The true sum of the selection lies between them with probability 0.95.  Equal = not
	 * known. */
	int64_t low, high;
	/* For a difference: largest error with probability 0.95; 0 = not known. */
	double sampling_error;
	double *variances; /* sampling variance of each sample's value; NULL = not known */
	/* For diff of several profiles: the rows.  NULL = the view computes them. */
	const struct mw_changes *changes;
	mw_graph_options_t graph;
	size_t frame_limit; /* for flame: most frames; 0: all */
	size_t stack_limit; /* for traces: most stacks, the largest; 0: all */
	bool has_births; /* for top as JSON: with the times of allocation, whose label is there */
	bool has_ages;   /* for flame: with the ages of memory in use, whose labels are there */
	/* NULL = units for people; otherwise "kB", "MiB", "minimum", "auto", "s", ... */
	const char *unit;
	double ratio;        /* factor that every value is multiplied by before it is shown */
	const char *pattern; /* pattern of peek, list, disasm */
	/* For jeprof: thread whose samples are shown; "*" = a table for each; NULL = all
	 * together. */
	const char *thread;
	const mw_symbolize_options_t *symbols; /* for disasm: where the program's files are */
	mw_syntax_t syntax;                    /* for disasm: syntax of the instructions */
	const char *source_path;               /* for list: directories between colons, or NULL */
	int columns; /* width of the terminal; 0 = names are not shortened */
	bool json;
	bool svg;       /* for flame: writes a picture instead of a page */
	bool is_jeprof; /* the table of functions has jeprof's columns */
	bool is_pprof;  /* for tags: a profile without labels is no error */
	bool no_header;
	const char *target; /* the profile's name on the command line; may be NULL */
	char *base;         /* the subtracted profile's name on the command line; NULL = none */
	char *filters;      /* options that leave something out, one on each line; may be NULL */
} mw_view_t;

/* True if values can be shown in this unit. */
bool mw_view_knows_unit(const char *unit);

/* Type of a function that prints a view.  Returns 0, or -1 with `error` filled in. */
typedef int mw_view_print_t(const mw_view_t *view, mw_error_t *error);

#endif
