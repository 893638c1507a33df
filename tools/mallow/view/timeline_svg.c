/* SPDX-License-Identifier: MIT
 * timeline_svg.c -- the heap over time as a picture. */
#include <stdlib.h>
#include <string.h>

#include "view/svg.h"
#include "view/timeline.h"

/* Pixels, of the picture and of the plot in it. */
enum { WIDTH = 900, HEIGHT = 320, LEFT = 84, TOP = 44, RIGHT = 880, BOTTOM = 280 };
/* Times below the plot. */
#define TIMES 5
/* Lines across it, at most. */
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

/* A round number that leaves at most LINES_MAX of it: powers of 2 for bytes. */
static double step_of(const mw_series_t *s, double height) {
	bool is_bytes = strcmp(s->unit, "bytes") == 0;
	double step = 1;
	for (int i = 0; height / step > LINES_MAX; i++)
		step *= is_bytes ? 2 : i % 3 == 1 ? 2.5 : 2;
	return step;
}

/* Steps: what was so at one moment is so until the next. */
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
	/* One moment alone is a line across. */
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
	int64_t first = s->moments[0].time_ns, last = s->moments[s->count - 1].time_ns;
	for (int i = 0; i < TIMES && (i == 0 || last > first); i++) {
		double part = (double)i / (TIMES - 1);
		int64_t at = (int64_t)((double)first * (1 - part) + (double)last * part);
		fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
			LEFT + part * (RIGHT - LEFT), BOTTOM + 18,
			i == 0           ? "start"
			: i == TIMES - 1 ? "end"
					 : "middle",
			mw_series_time(s, at, text, sizeof(text)));
	}
}

void mw_timeline_svg(const mw_series_t *s, FILE *out) {
	double height = (double)mw_series_height(s);
	const mw_moment_t *last = &s->moments[s->count - 1];
	const mw_moment_t *peak = &s->moments[mw_series_peak(s)];
	char value[48], time[32];
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" font-family=\"system-ui, DejaVu Sans, sans-serif\" "
		"font-size=\"12\">\n"
		"<style>.back{fill:#fff}text{fill:#1c1c1e}.grid{stroke:#d9d9de;fill:none}"
		".area{fill:#d1495b55}.live{fill:none;stroke:#d1495b;stroke-width:1.5}"
		".resident{fill:none;stroke:#6b6b70;stroke-width:1.5;stroke-dasharray:4 3}"
		"@media(prefers-color-scheme:dark){.back{fill:#17171a}text{fill:#ececf1}"
		".grid{stroke:#36363c}}</style>\n"
		"<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n"
		"<text x=\"%d\" y=\"24\" font-size=\"14\" font-weight=\"600\">",
		WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
	mw_svg_text(out, s->program);
	fputs(": ", out);
	mw_svg_text(out, s->type);
	fprintf(out,
		"</text>\n<text x=\"%d\" y=\"24\" text-anchor=\"end\">peak %s at %s%s</text>\n",
		RIGHT, mw_series_value(s, peak->value, value, sizeof(value)),
		mw_series_time(s, peak->time_ns, time, sizeof(time)),
		last->resident_bytes > 0 ? "; dashed: resident" : "");
	print_axes(s, out, height);
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
