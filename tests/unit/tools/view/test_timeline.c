/* SPDX-License-Identifier: MIT
 * test_timeline.c -- pictures of a known series, held against golden files; odd series. */
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "test.h"
#include "view/picture/timeline.h"

/* 100 s, a moment each: rises to 64 MiB at 50, falls; resident stays. */
static mw_moment_t moments[101];

static mw_series_t make_series(void) {
	const int64_t mib = 1 << 20;
	for (int i = 0; i <= 100; i++)
		moments[i] = (mw_moment_t){
			.time_ns = (int64_t)(1700000000 + i) * 1000000000,
			.value = (i <= 50 ? i : 100 - i) * mib * 64 / 50,
			.resident_bytes = i < 20 ? 30 * mib : 80 * mib,
			.allocated_bytes = i * mib,
		};
	return (mw_series_t){.program = "server",
			     .type = "inuse_space",
			     .unit = "bytes",
			     .moments = moments,
			     .count = 101};
}

typedef void draw_t(const mw_series_t *series, FILE *out);

static void at_80(const mw_series_t *s, FILE *out) {
	mw_timeline_text(s, out, 80, true);
}

static void at_20(const mw_series_t *s, FILE *out) {
	mw_timeline_text(s, out, 20, true);
}

static void in_ascii(const mw_series_t *s, FILE *out) {
	mw_timeline_text(s, out, 60, false);
}

static char *drawn(const mw_series_t *series, draw_t *draw) {
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	CHECK(out != NULL);
	draw(series, out);
	CHECK(fclose(out) == 0);
	return text;
}

static void pictures(void) {
	static const struct {
		const char *name;
		draw_t *draw;
	} all[] = {{"timeline-80-columns", at_80},
		   {"timeline-20-columns", at_20},
		   {"timeline-ascii", in_ascii},
		   {"timeline-svg", mw_timeline_svg}};
	mw_series_t series = make_series();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *text = drawn(&series, all[i].draw);
		check_golden(all[i].name, text);
		free(text);
	}
}

/* The moments below an axis have as many digits as tell them apart. */
static void short_series_have_digits(void) {
	static const struct {
		int64_t span_ns;
		const char *want;
	} all[] = {{90000000, ".045"}, {900000000, ".45"}, {9000000000, ".5"}};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		mw_series_t series = make_series();
		char text[64];
		moments[1].time_ns = moments[0].time_ns + all[i].span_ns;
		series.count = 2;
		mw_series_time(&series, moments[0].time_ns + all[i].span_ns / 2, text,
			       sizeof(text));
		CHECK(strlen(text) > strlen(all[i].want));
		CHECK(strcmp(text + strlen(text) - strlen(all[i].want), all[i].want) == 0);
	}
}

/* Times below a picture are whole steps of the local time. */
static void ticks_are_round(void) {
	static const struct {
		int64_t span_ns, step_ns;
		const char *first;
	} all[] = {{60 * (int64_t)1000000000, 10 * (int64_t)1000000000, "22:13:20"},
		   {700 * (int64_t)1000000000, 120 * (int64_t)1000000000, "22:14"},
		   {6 * (int64_t)86400000000000, (int64_t)86400000000000, "2023-11-15"},
		   {400000000, 100000000, "22:13:20.0"}};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		mw_series_t series = make_series();
		char text[64];
		moments[1].time_ns = moments[0].time_ns + all[i].span_ns;
		series.count = 2;
		int64_t step_ns = mw_series_tick_step(&series, 7);
		CHECK_EQ(step_ns, all[i].step_ns);
		int64_t first_ns = mw_series_tick_first(&series, step_ns);
		CHECK_EQ(first_ns % step_ns, 0);
		mw_series_tick_text(first_ns, step_ns, text, sizeof(text));
		CHECK(strcmp(text, all[i].first) == 0);
	}
}

/* A line's slope is found; of two moments nobody knows. */
static void trend_of_a_line(void) {
	mw_series_t series = make_series();
	char text[64];
	double slope;
	for (int i = 0; i <= 100; i++)
		moments[i].value = i * ((int64_t)3 << 20);
	CHECK(mw_series_slope(&series, &slope));
	CHECK(slope > 0x2.fffp20 && slope < 0x3.001p20);
	CHECK(mw_series_trend(&series, text, sizeof(text)));
	CHECK(strcmp(text, "+3.00 MiB/s") == 0);
	series.count = 2;
	CHECK(!mw_series_slope(&series, &slope));
}

/* A trend is said only when it exceeds its error.  Neighbouring moments are alike, as in a heap
 * that is filled and emptied. */
static void trend_of_waves(void) {
	mw_series_t series = make_series();
	char text[64];
	for (int growth = 0; growth <= 1; growth++) {
		for (int i = 0; i <= 100; i++)
			moments[i].value = (i % 40 < 20 ? 10 : 20) * ((int64_t)1 << 20) +
					   i * growth * (1 << 20);
		CHECK_EQ(mw_series_trend(&series, text, sizeof(text)), growth == 1);
	}
	/* Of few moments each counts. */
	series.count = 4;
	for (int i = 0; i < 4; i++)
		moments[i].value = (i % 2) << 20;
	CHECK(!mw_series_trend(&series, text, sizeof(text)));
	for (int i = 0; i < 4; i++)
		moments[i].value = i * 1000 + i % 2;
	CHECK(mw_series_trend(&series, text, sizeof(text)));
}

/* Of UTF-8 text without double-width characters. */
static size_t longest_line(const char *text) {
	size_t longest = 0, now = 0;
	for (; *text != '\0'; text++) {
		now = *text == '\n' ? 0 : now + ((*text & 0xc0) != 0x80);
		longest = now > longest ? now : longest;
	}
	return longest;
}

static void any_width_is_kept(void) {
	mw_series_t series = make_series();
	for (int columns = 40; columns < 200; columns += 7) {
		char *text;
		size_t length;
		FILE *out = open_memstream(&text, &length);
		CHECK(out != NULL);
		mw_timeline_text(&series, out, columns, true);
		fclose(out);
		char *facts = strstr(text, "\npeak ");
		CHECK(facts != NULL);
		*facts = '\0'; /* a sentence, which the terminal wraps */
		CHECK(longest_line(text) <= (size_t)columns);
		free(text);
	}
}

/* One moment, equal times, numbers at the ends of their range. */
static void odd_series(void) {
	static const int64_t ends[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
	mw_moment_t two[2];
	draw_t *const draws[] = {at_80, at_20, in_ascii, mw_timeline_svg, mw_timeline_json};
	for (size_t a = 0; a < 25; a++)
		for (size_t b = 0; b < 25; b++)
			for (size_t k = 0; k < 2 * sizeof(draws) / sizeof(draws[0]); k++) {
				for (int i = 0; i < 2; i++) {
					size_t of = i == 0 ? a : b;
					two[i] = (mw_moment_t){.time_ns = ends[of % 5],
							       .value = ends[of / 5],
							       .resident_bytes = ends[(a + b) % 5],
							       .allocated_bytes = ends[of % 5]};
				}
				mw_series_t series = {.program = "<&\033[1m\xff",
						      .type = "t",
						      .unit = "count",
						      .moments = two,
						      .count = 1 + k % 2};
				mw_series_sort(&series);
				char *text = drawn(&series, draws[k / 2]);
				CHECK(*text != '\0' && strchr(text, '\033') == NULL);
				free(text);
			}
}

int main(void) {
	setenv("TZ", "UTC", 1);
	RUN(pictures);
	RUN(short_series_have_digits);
	RUN(ticks_are_round);
	RUN(trend_of_a_line);
	RUN(trend_of_waves);
	RUN(any_width_is_kept);
	RUN(odd_series);
	return golden_failed ? 1 : 0;
}
