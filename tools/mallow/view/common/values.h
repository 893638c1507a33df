/* SPDX-License-Identifier: MIT
 * values.h -- formats values, percentages and headers for views.
 * Layer: view/common.  Private to view/. */
#ifndef MW_TOOL_VIEW_COMMON_VALUES_H
#define MW_TOOL_VIEW_COMMON_VALUES_H

#include "view/common/view.h"

enum { MW_VALUE_BYTES = 48 };

/* Returns the unit for the values of `graph` (may be NULL), derived from view->unit.  "minimum"
 * becomes the unit that fits the smallest value, as in pprof.  "auto", and "minimum" without a
 * graph, choose a unit for each value.  NULL: units for people. */
const char *mw_view_unit(const mw_view_t *view, const mw_graph_t *graph);
/* Formats a value: "1.50 MiB", or "1.5MB" in `unit`.  Returns `buffer` or a constant. */
const char *mw_view_value(const mw_view_t *view, const char *unit, int64_t value,
			  char buffer[MW_VALUE_BYTES]);

/* Formats a percentage in six columns as pprof does: " 5.23%".  Returns `buffer`. */
const char *mw_view_percent(int64_t part, int64_t whole, char buffer[MW_VALUE_BYTES]);

/* Prints the profile's name, time and type, and how much of it is shown.  `graph` may be NULL. */
void mw_view_header(const mw_view_t *view, const mw_graph_t *graph, const char *unit);

/* Prints a sample's labels, one on each line. */
void mw_view_labels(const mw_view_t *view, const mw_sample_t *sample);

/* Prints the line that names a function and its source file or module, before its rows. */
void mw_view_routine(const mw_view_t *view, const char *name, const char *file);

/* Prints a name after `used` columns, without control characters, shortened to the terminal's
 * width, or as mw_short_name() does where there is no terminal. */
void mw_view_name(const mw_view_t *view, const char *name, size_t used);

#endif
