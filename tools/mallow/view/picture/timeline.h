/* SPDX-License-Identifier: MIT
 * timeline.h -- the heap over time: as text, as a picture, as a web page, as JSON.
 * Layer: view/picture. */
#ifndef MW_TOOL_VIEW_PICTURE_TIMELINE_H
#define MW_TOOL_VIEW_PICTURE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/error.h"
#include "model/history.h"

typedef struct mw_moment {
	int64_t time_ns; /* nanoseconds since 1970 */
	int64_t value;
	int64_t resident_bytes;  /* 0 = not known */
	int64_t allocated_bytes; /* bytes allocated from the start to this moment; 0 = not known */
} mw_moment_t;

/* An event: sampling was switched, a limit was exceeded, or the user set a mark. */
typedef struct mw_mark {
	int64_t time_ns;
	bool is_stored; /* a profile of this moment is stored: --since and --alive-at take it */
	char text[48];
} mw_mark_t;

typedef struct mw_series {
	const char *program;
	uint32_t pid;             /* 0 = not known, or several processes */
	const char *type, *unit;  /* type and unit of the values: "inuse_space", "bytes" */
	mw_moment_t *moments;     /* moments, ordered by time */
	size_t count;             /* at least 1 */
	const mw_pause_t *pauses; /* pauses, ordered by time; may be NULL */
	size_t pause_count;
	mw_mark_t *marks; /* events, ordered by time; may be NULL */
	size_t mark_count;
} mw_series_t;

/* Orders the moments and limits their numbers.  Called before all other functions. */
void mw_series_sort(mw_series_t *series);
/* Returns the index of the first moment with the largest value. */
size_t mw_series_peak(const mw_series_t *series);
/* Returns the largest value or resident size; at least 1. */
int64_t mw_series_height(const mw_series_t *series);
/* Formats a value: "1.5 MiB", or a count.  Returns `buffer`. */
const char *mw_series_value(const mw_series_t *series, int64_t value, char *buffer, size_t size);
/* Formats a moment's local time, only as long as distinguishes it from the others.  Returns
 * `buffer`. */
const char *mw_series_time(const mw_series_t *series, int64_t time_ns, char *buffer, size_t size);

/* Returns a round distance in ns between the times of an axis, so that the axis has at most
 * `most` + 1 times. */
int64_t mw_series_tick_step(const mw_series_t *series, int most);
/* Returns the first time of the axis that is not before the first moment. */
int64_t mw_series_tick_first(const mw_series_t *series, int64_t step_ns);
/* Formats a local time with the precision of the step.  Returns `buffer`. */
const char *mw_series_tick_text(int64_t time_ns, int64_t step_ns, char *buffer, size_t size);
/* Computes the growth of the values by least squares.  False: there are fewer than three
 * moments. */
bool mw_series_slope(const mw_series_t *series, double *per_second);
/* Formats the growth: "+1.20 MiB/min".  False if there are fewer than three moments, or if the
 * growth does not exceed its error: in 5 of 100 series without growth it would. */
bool mw_series_trend(const mw_series_t *series, char *buffer, size_t size);

/* Prints the series in `columns` columns (0 = 80); with block characters if `is_unicode`,
 * otherwise in ASCII. */
void mw_timeline_text(const mw_series_t *series, FILE *out, int columns, bool is_unicode);
void mw_timeline_svg(const mw_series_t *series, FILE *out);
int mw_timeline_html(const mw_series_t *series, FILE *out, mw_error_t *error);
void mw_timeline_json(const mw_series_t *series, FILE *out);

#endif
