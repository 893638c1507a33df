/* SPDX-License-Identifier: MIT
 * show.h -- values, percentages and headers as the views show them.
 * Layer: tools/view.  Private to this folder. */
#ifndef MW_TOOL_VIEW_SHOW_H
#define MW_TOOL_VIEW_SHOW_H

#include "view/view.h"

enum { MW_VALUE_BYTES = 48 };

/* The unit of view->unit for the values of `graph` (which may be NULL): "minimum" becomes the
 * unit that fits the smallest of them, as in pprof; "auto" and, without a graph, "minimum" choose
 * one for each value; NULL: for people. */
const char *mw_view_unit(const mw_view_t *view, const mw_graph_t *graph);
/* "1.50 MiB", or in `unit` "1.5MB".  In `buffer` or a constant. */
const char *mw_view_value(const mw_view_t *view, const char *unit, int64_t value,
			  char buffer[MW_VALUE_BYTES]);

/* " 5.23%", six columns, as pprof has it.  Returns `buffer`. */
const char *mw_view_percent(int64_t part, int64_t whole, char buffer[MW_VALUE_BYTES]);

/* What the profile is and how much of it is shown.  `graph` may be NULL. */
void mw_view_header(const mw_view_t *view, const mw_graph_t *graph, const char *unit);

/* A sample's labels, a line each. */
void mw_view_labels(const mw_view_t *view, const mw_sample_t *sample);

/* The line that begins what is said of a function in a source file or module. */
void mw_view_routine(const mw_view_t *view, const char *name, const char *file);

/* A name behind `used` columns, without control characters, cut to what the terminal has left. */
void mw_view_name(const mw_view_t *view, const char *name, size_t used);

#endif
