/* SPDX-License-Identifier: MIT
 * timeline.c -- functions on a series, and its output as JSON and as a web page. */
#include "view/picture/timeline.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "view/common/json.h"
#include "view/common/web_page.h"

static int compare_times(const void *left, const void *right) {
	const mw_moment_t *a = left, *b = right;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* Largest number of a series, so that differences stay in range.  No clock and no memory exceeds
 * it. */
#define MOST ((int64_t)1 << 61)

static int64_t bounded(int64_t value) {
	return value > MOST ? MOST : value < -MOST ? -MOST : value;
}

void mw_series_sort(mw_series_t *s) {
	for (size_t i = 0; i < s->count; i++) {
		mw_moment_t *m = &s->moments[i];
		*m = (mw_moment_t){bounded(m->time_ns), bounded(m->value),
				   bounded(m->resident_bytes), bounded(m->allocated_bytes)};
	}
	qsort(s->moments, s->count, sizeof(mw_moment_t), compare_times);
}

size_t mw_series_peak(const mw_series_t *s) {
	size_t peak = 0;
	for (size_t i = 1; i < s->count; i++)
		if (s->moments[i].value > s->moments[peak].value)
			peak = i;
	return peak;
}

int64_t mw_series_height(const mw_series_t *s) {
	int64_t height = 1;
	for (size_t i = 0; i < s->count; i++) {
		if (s->moments[i].value > height)
			height = s->moments[i].value;
		if (s->moments[i].resident_bytes > height)
			height = s->moments[i].resident_bytes;
	}
	return height;
}

const char *mw_series_time(const mw_series_t *s, int64_t time_ns, char *buffer, size_t size) {
	const double day_seconds = 86400;
	double span =
		((double)s->moments[s->count - 1].time_ns - (double)s->moments[0].time_ns) / 1e9;
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm then;
	const char *format = span < day_seconds       ? "%H:%M:%S"
			     : span < 7 * day_seconds ? "%a %H:%M"
						      : "%Y-%m-%d";
	size_t used = 0;
	if (localtime_r(&seconds, &then) != NULL)
		used = strftime(buffer, size, format, &then);
	if (used == 0)
		snprintf(buffer, size, "?");
	else if (span < 10) /* only as many digits as distinguish the moments of an axis */
		snprintf(buffer + used, size - used, ".%0*d",
			 span < 0.1 ? 3
			 : span < 1 ? 2
				    : 1,
			 (int)(time_ns % 1000000000 /
			       (span < 0.1 ? 1000000
				: span < 1 ? 10000000
					   : 100000000)));
	return buffer;
}

void mw_timeline_json(const mw_series_t *s, FILE *out) {
	mw_json_t j = {.out = out};
	mw_json_open(&j, NULL, '{');
	mw_json_add_text(&j, "view", "timeline");
	mw_json_add_text(&j, "program", s->program);
	if (s->pid != 0)
		mw_json_add_number(&j, "pid", s->pid);
	mw_json_add_text(&j, "type", s->type);
	mw_json_add_text(&j, "unit", s->unit);
	mw_json_add_number(&j, "total", s->moments[s->count - 1].value);
	char trend[64];
	if (mw_series_trend(s, trend, sizeof(trend)))
		mw_json_add_text(&j, "trend", trend);
	double per_second;
	if (mw_series_slope(s, &per_second))
		mw_json_add_real(&j, "per_second", per_second);
	mw_json_open(&j, "moments", '[');
	for (size_t i = 0; i < s->count; i++) {
		const mw_moment_t *m = &s->moments[i];
		mw_json_open(&j, NULL, '{');
		mw_json_add_number(&j, "time_ns", m->time_ns);
		mw_json_add_number(&j, "value", m->value);
		if (m->resident_bytes != 0)
			mw_json_add_number(&j, "resident_bytes", m->resident_bytes);
		if (m->allocated_bytes != 0)
			mw_json_add_number(&j, "allocated_bytes", m->allocated_bytes);
		mw_json_close(&j);
	}
	mw_json_close(&j);
	mw_json_open(&j, "pauses", '[');
	for (size_t i = 0; i < s->pause_count; i++) {
		mw_json_open(&j, NULL, '{');
		mw_json_add_number(&j, "from_ns", s->pauses[i].from_ns);
		mw_json_add_number(&j, "until_ns", s->pauses[i].until_ns);
		mw_json_close(&j);
	}
	mw_json_close(&j);
	mw_json_open(&j, "marks", '[');
	for (size_t i = 0; i < s->mark_count; i++) {
		mw_json_open(&j, NULL, '{');
		mw_json_add_number(&j, "time_ns", s->marks[i].time_ns);
		mw_json_add_text(&j, "text", s->marks[i].text);
		mw_json_add_flag(&j, "stored", s->marks[i].is_stored);
		mw_json_close(&j);
	}
	mw_json_end(&j);
}

int mw_timeline_html(const mw_series_t *s, FILE *out, mw_error_t *error) {
	if (mw_web_page_begin(MW_WEB_PAGE_TIMELINE, out, error) != 0)
		return -1;
	mw_timeline_json(s, out);
	mw_web_page_end(MW_WEB_PAGE_TIMELINE, out);
	return 0;
}
