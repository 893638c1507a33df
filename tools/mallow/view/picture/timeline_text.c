/* SPDX-License-Identifier: MIT
 * timeline_text.c -- the heap over time in a terminal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/text.h"
#include "report/text/names.h"
#include "view/picture/timeline.h"

/* Height of the plot in rows: a third of a usual terminal. */
#define ROWS 10
/* On narrower terminals the values stand above the plot instead of beside it. */
#define NARROW_COLUMNS 40
/* Columns of "1023.9 MiB " and the axis. */
#define LABEL_COLUMNS 12
/* Most columns of the plot. */
#define COLUMNS_MAX 160
#define COLUMNS_MIN 8
#define COLUMNS_OF_FILES 80
/* Fewest columns of a plot whose legend stands above it. */
#define LEGEND_COLUMNS 48
/* Columns for each time below the plot. */
#define TIME_COLUMNS 16
/* Most lines that list times at which sampling was off. */
#define PAUSES_MAX 8u
/* Most lines that list events. */
#define MARKS_MAX 8u

/* Largest value of the moments in a column, in eighths of a row, and their resident memory, in
 * rows. */
typedef struct column {
	int64_t value, resident_bytes;
	bool is_known;
} column_t;

typedef struct chart {
	const mw_series_t *series;
	FILE *out;
	column_t *columns;
	size_t width;
	double height; /* value at the top of the uppermost row */
	bool is_narrow, is_unicode;
} chart_t;

static size_t column_of(const chart_t *c, int64_t time_ns) {
	const mw_series_t *s = c->series;
	double first = (double)s->moments[0].time_ns,
	       last = (double)s->moments[s->count - 1].time_ns;
	if (last <= first)
		return 0;
	double at = ((double)time_ns - first) / (last - first) * (double)(c->width - 1);
	return at > 0 ? (size_t)at : 0;
}

/* A value is valid until the next moment. */
static void fill_gaps(chart_t *c) {
	for (size_t i = 1; i < c->width; i++)
		if (!c->columns[i].is_known)
			c->columns[i] = c->columns[i - 1];
}

static void fill_columns(chart_t *c) {
	for (size_t i = 0; i < c->series->count; i++) {
		const mw_moment_t *m = &c->series->moments[i];
		column_t *column = &c->columns[column_of(c, m->time_ns)];
		if (!column->is_known || m->value > column->value)
			column->value = m->value;
		if (m->resident_bytes > column->resident_bytes)
			column->resident_bytes = m->resident_bytes;
		column->is_known = true;
	}
	fill_gaps(c);
}

/* Returns the character of a cell.  `row` 0 is the lowest. */
static const char *cell(const chart_t *c, const column_t *column, int row) {
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	double eighths = (double)column->value / c->height * ROWS * 8 - row * 8;
	int level = eighths >= 8 ? 8 : eighths > 0 ? (int)ceil(eighths) : 0;
	bool is_resident = column->resident_bytes > 0 && (int)((double)column->resident_bytes /
							       c->height * (ROWS - 0.001)) == row;
	if (is_resident && level == 0)
		return c->is_unicode ? "─" : "-";
	return c->is_unicode ? blocks[level] : level >= 4 ? "#" : level > 0 ? "." : " ";
}

static void print_label(const chart_t *c, int row) {
	char value[48] = "";
	if (c->is_narrow)
		return;
	if (row == ROWS - 1 || row == ROWS / 2 - 1)
		mw_series_value(c->series, (int64_t)(c->height * (row + 1) / ROWS), value,
				sizeof(value));
	fprintf(c->out, "%10s %s", value, c->is_unicode ? (*value != '\0' ? "┤" : "│") : "|");
}

static void print_rows(const chart_t *c) {
	for (int row = ROWS - 1; row >= 0; row--) {
		size_t end = c->width;
		print_label(c, row);
		while (end > 0 && *cell(c, &c->columns[end - 1], row) == ' ')
			end--;
		for (size_t i = 0; i < end; i++)
			fputs(cell(c, &c->columns[i], row), c->out);
		fputc('\n', c->out);
	}
}

/* Prints the line below the plot, with a mark at each column in `ticks`. */
static void print_axis(const chart_t *c, const bool *ticks) {
	if (!c->is_narrow)
		fprintf(c->out, "%10s %s", "0", c->is_unicode ? "└" : "+");
	for (size_t i = 0; i < c->width; i++)
		fputs(!c->is_unicode ? (ticks[i] ? "+" : "-") : ticks[i] ? "┬" : "─", c->out);
	fputc('\n', c->out);
}

/* Prints the first and the last time. */
static void print_ends(const chart_t *c) {
	const mw_series_t *s = c->series;
	char first[32], last[32];
	mw_series_time(s, s->moments[0].time_ns, first, sizeof(first));
	mw_series_time(s, s->moments[s->count - 1].time_ns, last, sizeof(last));
	size_t room = c->width > strlen(first) ? c->width - strlen(first) : 0;
	fprintf(c->out, "%*s%s", c->is_narrow ? 0 : LABEL_COLUMNS, "", first);
	if (room > strlen(last))
		fprintf(c->out, "%*s", (int)room, last);
	fputc('\n', c->out);
}

/* Writes round times into `labels`, each below its column, and marks the columns.  Returns how
 * many there are. */
static size_t place_times(const chart_t *c, char *labels, bool *ticks) {
	const mw_series_t *s = c->series;
	int64_t last = s->moments[s->count - 1].time_ns;
	int64_t step_ns = mw_series_tick_step(s, (int)(c->width / TIME_COLUMNS));
	size_t count = 0, free_from = 0;
	for (int64_t at = mw_series_tick_first(s, step_ns); at <= last; at += step_ns) {
		char text[48];
		mw_series_tick_text(at, step_ns, text, sizeof(text));
		size_t length = strlen(text), column = column_of(c, at);
		size_t left = column > length / 2 ? column - length / 2 : 0;
		if (left < free_from || left + length > c->width)
			continue;
		memcpy(labels + left, text, length);
		free_from = left + length + 1;
		ticks[column] = true;
		count++;
	}
	return count;
}

/* Prints round times, or the first and the last time if fewer than two have room. */
static void print_times(const chart_t *c) {
	bool *ticks = mw_xcalloc(c->width, sizeof(bool));
	char *labels = mw_xcalloc(c->width + 1, 1);
	memset(labels, ' ', c->width);
	bool has_times = !c->is_narrow && place_times(c, labels, ticks) > 1;
	if (!has_times)
		memset(ticks, 0, c->width * sizeof(bool));
	print_axis(c, ticks);
	if (has_times) {
		size_t end = c->width;
		while (labels[end - 1] == ' ')
			end--;
		fprintf(c->out, "%*s%.*s\n", LABEL_COLUMNS, "", (int)end, labels);
	} else {
		print_ends(c);
	}
	free(labels);
	free(ticks);
}

/* Prints the facts, on a narrow terminal one on each line. */
static void print_facts(const chart_t *c) {
	const mw_series_t *s = c->series;
	const mw_moment_t *first = &s->moments[0], *last = &s->moments[s->count - 1];
	const mw_moment_t *peak = &s->moments[mw_series_peak(s)];
	const char *between = c->is_narrow ? "\n" : ", ";
	char value[48], time[32];
	fprintf(c->out, "peak %s at %s", mw_series_value(s, peak->value, value, sizeof(value)),
		mw_series_time(s, peak->time_ns, time, sizeof(time)));
	fprintf(c->out, "%slast %s", between,
		mw_series_value(s, last->value, value, sizeof(value)));
	if (last->resident_bytes > 0)
		fprintf(c->out, "%sresident %s", between,
			mw_series_value(s, last->resident_bytes, value, sizeof(value)));
	double seconds = ((double)last->time_ns - (double)first->time_ns) / 1e9;
	double bytes = (double)last->allocated_bytes - (double)first->allocated_bytes;
	if (last->allocated_bytes > 0 && seconds > 0 && bytes >= 0 && bytes / seconds < 0x1p62)
		fprintf(c->out, "%sallocated %s/s", between,
			mw_series_value(s, (int64_t)(bytes / seconds), value, sizeof(value)));
	char trend[64];
	if (mw_series_trend(s, trend, sizeof(trend)))
		fprintf(c->out, "%strend %s", between, trend);
	fputc('\n', c->out);
}

static void print_pauses(const chart_t *c) {
	const mw_series_t *s = c->series;
	char from[32], until[32];
	for (size_t i = 0; i < s->pause_count && i < PAUSES_MAX; i++)
		fprintf(c->out, "sampling was off from %s to %s\n",
			mw_series_time(s, s->pauses[i].from_ns, from, sizeof(from)),
			mw_series_time(s, s->pauses[i].until_ns, until, sizeof(until)));
	if (s->pause_count > PAUSES_MAX)
		fprintf(c->out, "and %zu times more\n", s->pause_count - PAUSES_MAX);
}

/* Prints the newest events. */
static void print_marks(const chart_t *c) {
	const mw_series_t *s = c->series;
	char time[32];
	size_t left_out = s->mark_count > MARKS_MAX ? s->mark_count - MARKS_MAX : 0;
	if (left_out > 0)
		fprintf(c->out, "%zu earlier mark%s\n", left_out, left_out == 1 ? "" : "s");
	for (size_t i = left_out; i < s->mark_count; i++) {
		fprintf(c->out, "%s  ", mw_series_time(s, s->marks[i].time_ns, time, sizeof(time)));
		mw_text_print(c->out, s->marks[i].text);
		fputc('\n', c->out);
	}
}

/* Says what the characters of the plot mean. */
static void print_legend(const chart_t *c) {
	const mw_series_t *s = c->series;
	if (c->width >= LEGEND_COLUMNS && s->moments[s->count - 1].resident_bytes > 0)
		fprintf(c->out, c->is_unicode ? " █, resident memory ─" : " #, resident memory -");
}

void mw_timeline_text(const mw_series_t *s, FILE *out, int columns, bool is_unicode) {
	if (columns <= 0)
		columns = COLUMNS_OF_FILES;
	chart_t c = {.series = s,
		     .out = out,
		     .height = (double)mw_series_height(s),
		     .is_narrow = columns < NARROW_COLUMNS,
		     .is_unicode = is_unicode};
	int width = c.is_narrow ? columns : columns - LABEL_COLUMNS;
	width = width < COLUMNS_MIN ? COLUMNS_MIN : width > COLUMNS_MAX ? COLUMNS_MAX : width;
	c.width = (size_t)width;
	c.columns = mw_xcalloc(c.width, sizeof(column_t));
	fill_columns(&c);
	mw_text_print(out, s->program);
	fputs(c.is_narrow ? "\n" : ": ", out);
	mw_text_print(out, s->type);
	print_legend(&c);
	fprintf(out, "%s%zu moment%s\n", c.is_narrow ? "\n" : ", ", s->count,
		s->count == 1 ? "" : "s");
	if (c.is_narrow) {
		char top[48];
		fprintf(out, "up to %s\n", mw_series_value(s, (int64_t)c.height, top, sizeof(top)));
	}
	print_rows(&c);
	print_times(&c);
	print_facts(&c);
	print_pauses(&c);
	print_marks(&c);
	free(c.columns);
}
