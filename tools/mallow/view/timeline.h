/* SPDX-License-Identifier: MIT
 * timeline.h -- the heap over time: as text, as a picture, as a web page, as JSON.
 * Layer: tools/view. */
#ifndef MW_TOOL_VIEW_TIMELINE_H
#define MW_TOOL_VIEW_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/error.h"

typedef struct mw_moment {
	int64_t time_ns; /* since 1970 */
	int64_t value;
	int64_t resident_bytes;  /* 0: not known */
	int64_t allocated_bytes; /* from the start until then; 0: not known */
} mw_moment_t;

typedef struct mw_series {
	const char *program;
	const char *type, *unit; /* of the values: "inuse_space", "bytes" */
	mw_moment_t *moments;    /* by time */
	size_t count;            /* >= 1 */
} mw_series_t;

/* Sorts the moments, and bounds their numbers: first of all. */
void mw_series_sort(mw_series_t *series);
/* The number of the first moment with the largest value. */
size_t mw_series_peak(const mw_series_t *series);
/* The largest value or resident size; at least 1. */
int64_t mw_series_height(const mw_series_t *series);
/* "1.5 MiB", or a count. */
const char *mw_series_value(const mw_series_t *series, int64_t value, char *buffer, size_t size);
/* Local time of a moment, as short as tells it from the others.  Returns `buffer`. */
const char *mw_series_time(const mw_series_t *series, int64_t time_ns, char *buffer, size_t size);

/* In `columns` columns (0: 80); with block characters if `is_unicode`, else in ASCII. */
void mw_timeline_text(const mw_series_t *series, FILE *out, int columns, bool is_unicode);
void mw_timeline_svg(const mw_series_t *series, FILE *out);
int mw_timeline_html(const mw_series_t *series, FILE *out, mw_error_t *error);
void mw_timeline_json(const mw_series_t *series, FILE *out);

#endif
