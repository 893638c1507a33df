/* SPDX-License-Identifier: MIT
 * view.h -- the ways to look at a profile.
 * Layer: tools/view.  Each prints one profile, already selected and symbolized, to view->out. */
#ifndef MW_TOOL_VIEW_VIEW_H
#define MW_TOOL_VIEW_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "model/error.h"
#include "model/profile.h"
#include "symbol/code.h"
#include "symbol/symbolize.h"
#include "view/graph.h"
#include "view/selection.h"

typedef struct mw_view {
	const char *name; /* as the command line calls it */
	const mw_profile_t *profile;
	FILE *out;
	size_t type;   /* sample type */
	int64_t total; /* what percentages are of */
	int64_t sum;   /* of all values before the selection, signed */
	mw_graph_options_t graph;
	const char *unit;    /* NULL: for people; else "kB", "MiB", "minimum", "auto", "s", ... */
	double ratio;        /* values are multiplied by it before they are shown */
	const char *pattern; /* of peek, list, disasm */
	const char *thread;  /* of jeprof: whose samples these are, "*": a table each; NULL: all */
	const mw_symbolize_options_t *symbols; /* of disasm: where the program's files are */
	mw_syntax_t syntax;                    /* likewise */
	const char *source_path; /* of list: directories between colons; may be NULL */
	int columns;             /* width of the terminal; 0: names are not cut */
	bool json;
	bool svg;       /* of flame: a picture instead of a page */
	bool is_jeprof; /* the table of functions has jeprof's columns */
	bool is_pprof;  /* of tags: none is no error */
	bool no_header;
	const char *filters; /* options that leave something out, a line each; may be NULL */
} mw_view_t;

/* Is it one that values can be shown in? */
bool mw_view_knows_unit(const char *unit);

/* 0, or -1 with `error` filled in. */
typedef int mw_view_print_t(const mw_view_t *view, mw_error_t *error);

mw_view_print_t mw_view_top;        /* flat and cumulative sums */
mw_view_print_t mw_view_jeprof;     /* the same as jeprof prints it */
mw_view_print_t mw_view_tree;       /* the same, each with its callers and callees */
mw_view_print_t mw_view_peek;       /* of the tree, what matches the pattern */
mw_view_print_t mw_view_traces;     /* stack by stack */
mw_view_print_t mw_view_tags;       /* by label */
mw_view_print_t mw_view_sizes;      /* by size of object */
mw_view_print_t mw_view_lifetimes;  /* what was freed, by how long it lived */
mw_view_print_t mw_view_threads;    /* by thread */
mw_view_print_t mw_view_list;       /* source, with the bytes of each line */
mw_view_print_t mw_view_weblist;    /* both as a web page: lines that open into instructions */
mw_view_print_t mw_view_disasm;     /* instructions, with the bytes of each */
mw_view_print_t mw_view_collapsed;  /* "main;f;g 42" */
mw_view_print_t mw_view_speedscope; /* for speedscope.app */
mw_view_print_t mw_view_callgrind;  /* for kcachegrind and callgrind_annotate */
mw_view_print_t mw_view_comments;   /* what whoever wrote the profile noted */
mw_view_print_t mw_view_raw;        /* all there is in the profile */
mw_view_print_t mw_view_dot;        /* for graphviz */
mw_view_print_t mw_view_flame;      /* one HTML file, or one picture */

/* The rows of the table as samples of the types "cum" and "flat".  The caller frees it. */
mw_profile_t *mw_view_top_profile(const mw_view_t *view);

#endif
