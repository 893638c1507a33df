/* SPDX-License-Identifier: MIT
 * timeline_svg.c -- the heap over time as an SVG picture. */
#include <stdlib.h>
#include <string.h>

#include "view/common/web_page.h"
#include "view/picture/timeline.h"

/* Pixels: the picture, and the plot inside it. */
enum { WIDTH = 900, HEIGHT = 340, LEFT = 84, TOP = 64, RIGHT = 880, BOTTOM = 300 };
/* Most distances between times below the plot. */
#define TIMES 7
/* Average width of a letter in pixels. */
#define LETTER 6.6
/* Most horizontal lines in the plot. */
#define LINES_MAX 6

static double x_of(const mw_series_t *s, int64_t time_ns) {
	double first = (double)s->moments[0].time_ns,
	       last = (double)s->moments[s->count - 1].time_ns;
	return last > first ? LEFT + ((double)time_ns - first) / (last - first) * (RIGHT - LEFT)
			    : LEFT;
}

static double y_of(double value, double height) {
	double y = BOTTOM - value / height * (BOTTOM - TOP);
	return y < BOTTOM ? y : BOTTOM;
}

/* Returns a round distance that gives at most LINES_MAX lines: a power of 2 for bytes. */
static double step_of(const mw_series_t *s, double height) {
	bool is_bytes = strcmp(s->unit, "bytes") == 0;
	double step = 1;
	for (int i = 0; height / step > LINES_MAX; i++)
		step *= is_bytes ? 2 : i % 3 == 1 ? 2.5 : 2;
	return step;
}

/* Draws steps: a value is valid until the next moment. */
static void print_path(const mw_series_t *s, FILE *out, double height, bool resident) {
	double y = BOTTOM;
	for (size_t i = 0; i < s->count; i++) {
		const mw_moment_t *m = &s->moments[i];
		double x = x_of(s, m->time_ns);
		y = y_of((double)(resident ? m->resident_bytes : m->value), height);
		if (i == 0)
			fprintf(out, "M%.1f %.1f", x, y);
		else
			fprintf(out, "H%.1fV%.1f", x, y);
	}
	/* A single moment is a horizontal line. */
	fprintf(out, "H%d", RIGHT);
}

static void print_axes(const mw_series_t *s, FILE *out, double height) {
	char text[48];
	double step = step_of(s, height);
	for (double value = 0; value <= height; value += step) {
		double y = y_of(value, height);
		fprintf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, y, RIGHT);
		fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 8,
			y + 4, mw_series_value(s, (int64_t)value, text, sizeof(text)));
	}
	int64_t last = s->moments[s->count - 1].time_ns, step_ns = mw_series_tick_step(s, TIMES);
	for (int64_t at = mw_series_tick_first(s, step_ns); at <= last; at += step_ns) {
		double x = x_of(s, at);
		fprintf(out,
			"<path class=\"grid\" d=\"M%.1f %dV%d\"/><text class=\"time\" x=\"%.1f\" "
			"y=\"%d\" text-anchor=\"middle\">%s</text>\n",
			x, BOTTOM, BOTTOM + 4, x, BOTTOM + 18,
			mw_series_tick_text(at, step_ns, text, sizeof(text)));
	}
}

/* Draws a vertical line for each event, with its name if there is room. */
static void print_marks(const mw_series_t *s, FILE *out) {
	double free_from = LEFT;
	for (size_t i = 0; i < s->mark_count; i++) {
		double x = x_of(s, s->marks[i].time_ns);
		double wide = (double)strlen(s->marks[i].text) * LETTER;
		if (x < LEFT || x > RIGHT)
			continue;
		fprintf(out, "<path class=\"mark\" d=\"M%.1f %dV%d\"><title>", x, TOP - 4, BOTTOM);
		mw_svg_text(out, s->marks[i].text);
		fputs("</title></path>", out);
		double left = x + wide > RIGHT ? RIGHT - wide : x;
		if (left >= free_from) {
			fprintf(out, "<text x=\"%.1f\" y=\"%d\" font-size=\"11\">", left, TOP - 8);
			mw_svg_text(out, s->marks[i].text);
			fputs("</text>", out);
			free_from = left + wide + LETTER;
		}
		fputc('\n', out);
	}
}

/* Draws the legend from the right. */
static void print_legend(const mw_series_t *s, FILE *out) {
	const mw_moment_t *last = &s->moments[s->count - 1];
	const struct {
		const char *class, *text;
		bool is_shown;
	} rows[] = {{"pause", "sampling was off", s->pause_count > 0},
		    {"resident", "resident memory", last->resident_bytes > 0},
		    {"live", s->type, true}};
	double x = RIGHT;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].is_shown)
			continue;
		x -= (double)strlen(rows[i].text) * LETTER;
		fprintf(out, "<path class=\"%s\" d=\"M%.1f 38h20\"/><text x=\"%.1f\" y=\"42\">",
			rows[i].class, x - 26, x);
		mw_svg_text(out, rows[i].text);
		fputs("</text>\n", out);
		x -= 40;
	}
}

/* Draws pauses as grey areas behind the curve. */
static void print_pauses(const mw_series_t *s, FILE *out) {
	for (size_t i = 0; i < s->pause_count; i++) {
		double from = x_of(s, s->pauses[i].from_ns), until = x_of(s, s->pauses[i].until_ns);
		from = from < LEFT ? LEFT : from;
		until = until > RIGHT ? RIGHT : until;
		if (until > from)
			fprintf(out,
				"<rect class=\"pause\" "
				"x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
				"height=\"%d\"><title>sampling was off</title></rect>\n",
				from, TOP, until - from, BOTTOM - TOP);
	}
}

void mw_timeline_svg(const mw_series_t *s, FILE *out) {
	double height = (double)mw_series_height(s);
	const mw_moment_t *last = &s->moments[s->count - 1];
	const mw_moment_t *peak = &s->moments[mw_series_peak(s)];
	char value[48], now[48], time[32], trend[64];
	bool has_trend = mw_series_trend(s, trend, sizeof(trend));
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" font-family=\"system-ui, DejaVu Sans, sans-serif\" "
		"font-size=\"12\">\n"
		"<style>.back{fill:#fff}text{fill:#1c1c1e}.grid{stroke:#d9d9de;fill:none}"
		".area{fill:#d1495b55}.live{fill:none;stroke:#d1495b;stroke-"
		"width:1.5}"
		".resident{fill:none;stroke:#6b6b70;stroke-width:1.5;stroke-dasharray:4 3}"
		".mark{fill:none;stroke:#7a3ff2;stroke-dasharray:2 3}"
		"rect.pause{fill:#888;fill-opacity:.25}path.pause{stroke:#888;stroke-opacity:.4;"
		"stroke-width:10}"
		"@media(prefers-color-scheme:dark){svg{background:#17171a}.back{fill:#17171a}text{"
		"fill:#ececf1}"
		".grid{stroke:#36363c}.live{stroke:#ff7b8a}.resident{stroke:#a6a6b0}"
		".mark{stroke:#b58cff}}</style>\n"
		"<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n"
		"<text x=\"%d\" y=\"24\" font-size=\"14\" font-weight=\"600\">",
		WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
	mw_svg_text(out, s->program);
	fputs(": ", out);
	mw_svg_text(out, s->type);
	fprintf(out,
		"</text>\n<text x=\"%d\" y=\"24\" text-anchor=\"end\">peak %s at %s, last "
		"%s%s%s</text>\n",
		RIGHT, mw_series_value(s, peak->value, value, sizeof(value)),
		mw_series_time(s, peak->time_ns, time, sizeof(time)),
		mw_series_value(s, last->value, now, sizeof(now)), has_trend ? ", trend " : "",
		has_trend ? trend : "");
	print_legend(s, out);
	print_pauses(s, out);
	print_axes(s, out, height);
	print_marks(s, out);
	fputs("<path class=\"area\" d=\"", out);
	print_path(s, out, height, false);
	fprintf(out, "V%dH%dZ\"/>\n<path class=\"live\" d=\"", BOTTOM, LEFT);
	print_path(s, out, height, false);
	fputs("\"/>\n", out);
	if (last->resident_bytes > 0) {
		fputs("<path class=\"resident\" d=\"", out);
		print_path(s, out, height, true);
		fputs("\"/>\n", out);
	}
	fputs("</svg>\n", out);
}
