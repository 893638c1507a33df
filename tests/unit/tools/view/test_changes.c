/* SPDX-License-Identifier: MIT
 * test_changes.c -- the p-values of changes, and lines through several profiles. */
#include <math.h>

#include "made_profile.h"
#include "view/table/changes.h"
#include "view/table/slopes.h"

/* The normal distribution: 5 of 100 lie outside of 1.96 standard deviations. */
static void p_values(void) {
	static const struct {
		double fitted, variance, p_value;
	} ways[] = {{1.959964, 1, 0.05}, {-1.959964, 1, 0.05}, {3.919928, 4, 0.05},
		    {0, 1, 1},           {10, 1, 0},           {10, 0, 0}};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		mw_change_t change = {.fitted = ways[i].fitted, .variance = ways[i].variance};
		CHECK_NEAR(mw_change_p_value(&change), ways[i].p_value, 1e-6);
	}
}

static mw_profile_t *profile_of(int64_t leak, int64_t cache) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "space", "bytes");
	made_stack(p, "main;leak", (const int64_t[]){leak}, NULL);
	made_stack(p, "main;cache", (const int64_t[]){cache}, NULL);
	return p;
}

/* leak() holds 10, 20, 40 bytes at 0, 10 and 20 s, each with a variance of 4; the order in which
 * profiles are added does not matter.  By hand: a slope of 1.5 bytes a second, 30 bytes in all,
 * of which (-1, 0, 1) times the three values are the sum, and so 8 the variance. */
static void lines(void) {
	static const int64_t leak[] = {40, 10, 20}, cache[] = {7, 7, 9}, at_s[] = {20, 0, 10};
	static const double variances[] = {4, 0};
	mw_slopes_t *slopes = mw_slopes_new(3);
	mw_view_t view = {0};
	mw_changes_t c;
	mw_error_t error;
	for (size_t k = 0; k < 3; k++) {
		mw_profile_t *p = profile_of(leak[k], cache[k]);
		view.profile = p;
		view.graph.variances = variances;
		mw_slopes_add(slopes, k, &view, at_s[k] * 1000000000);
		mw_profile_free(p);
	}
	CHECK_EQ(mw_slopes_fit(slopes, &view, &c, &error), 0);
	CHECK_EQ(c.count, 3);
	CHECK_EQ(c.steps, 2);
	CHECK_NEAR(c.seconds, 20, 1e-9);
	CHECK_EQ(view.total, 17);
	CHECK_STR(c.rows[0].name, "leak");
	CHECK_EQ(c.rows[0].flat, 30);
	CHECK_NEAR(c.rows[0].fitted, 30, 1e-9);
	CHECK_NEAR(c.rows[0].variance, 8, 1e-9);
	CHECK_EQ(c.rows[0].grew, 2);
	CHECK_STR(c.rows[1].name, "main");
	CHECK_EQ(c.rows[1].cum, 30);
	CHECK_STR(c.rows[2].name, "cache");
	CHECK_NEAR(c.rows[2].fitted, 0, 1e-9);
	CHECK_EQ(c.rows[2].grew, 1);
	CHECK_EQ(c.whole.flat, 30);
	free(c.rows);
	mw_slopes_free(slopes);
}

static void one_moment(void) {
	mw_slopes_t *slopes = mw_slopes_new(2);
	mw_view_t view = {0};
	mw_changes_t c;
	mw_error_t error;
	for (size_t k = 0; k < 2; k++) {
		mw_profile_t *p = profile_of(1, 2);
		view.profile = p;
		mw_slopes_add(slopes, k, &view, 5);
		mw_profile_free(p);
	}
	CHECK_EQ(mw_slopes_fit(slopes, &view, &c, &error), -1);
	CHECK(strstr(error.text, "have the same time") != NULL);
	mw_slopes_free(slopes);
}

int main(void) {
	RUN(p_values);
	RUN(lines);
	RUN(one_moment);
	return 0;
}
