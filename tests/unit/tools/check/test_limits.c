/* SPDX-License-Identifier: MIT
 * test_limits.c -- limits hold for what is certain; what libraries keep is left out. */
#include "check/known.h"
#include "check/limits.h"
#include "made_profile.h"

static mw_error_t error;

enum { OBJECTS, SPACE, SAMPLES, PEAK, TYPES };

/* One stack of `objects` objects of 512 bytes, of which `samples` were sampled. */
static mw_profile_t *make(int64_t objects, int64_t samples, int64_t period) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "inuse_objects", "count");
	mw_profile_add_type(p, "inuse_space", "bytes");
	mw_profile_add_type(p, "inuse_samples", "count");
	mw_profile_add_type(p, "peak_space", "bytes");
	p->period = period;
	made_stack(p, "main;fill",
		   (const int64_t[TYPES]){objects, 512 * objects, samples, 512 * objects}, NULL);
	return p;
}

static bool passes(mw_limit_kind_t kind, const mw_limit_profiles_t *profiles, int64_t allowed) {
	mw_finding_t finding;
	CHECK_EQ(mw_limit_check(kind, profiles, allowed, &finding, &error), 0);
	CHECK(finding.low <= finding.measured && finding.measured <= finding.high);
	mw_stacks_release(&finding.stacks);
	return finding.passed;
}

static void exact_values_are_compared_as_they_are(void) {
	mw_profile_t *p = make(1000, 1000, 1);
	const mw_limit_profiles_t profiles = {.whole = p, .live = p};
	CHECK(passes(MW_LIMIT_LIVE, &profiles, 512000));
	CHECK(!passes(MW_LIMIT_LIVE, &profiles, 511999));
	CHECK(passes(MW_LIMIT_PEAK, &profiles, 512000));
	CHECK(!passes(MW_LIMIT_PEAK, &profiles, 511999));
	mw_profile_free(p);
}

/* One sample of 512 bytes stands for 1,000 objects: there may well be half of them, and there is
 * one for certain. */
static void estimates_fail_where_the_limit_is_passed_for_certain(void) {
	mw_profile_t *p = make(1000, 1, 524288);
	const mw_limit_profiles_t profiles = {.whole = p, .live = p};
	CHECK(passes(MW_LIMIT_LIVE, &profiles, 256000));
	CHECK(!passes(MW_LIMIT_LIVE, &profiles, 511));
	CHECK(!passes(MW_LIMIT_LIVE, &profiles, 0));
	CHECK(passes(MW_LIMIT_PEAK, &profiles, 256000));
	mw_profile_free(p);
}

static bool growth_passes(int64_t before, int64_t after, int64_t each, int64_t period,
			  int64_t allowed) {
	mw_profile_t *base = make(before, before / each, period);
	mw_profile_t *live = make(after, after / each, period);
	mw_profile_t *growth = make(after - before, 0, period);
	const mw_limit_profiles_t profiles = {live, live, base, base, growth, growth};
	bool passed = passes(MW_LIMIT_GROWTH, &profiles, allowed);
	mw_profile_free(base);
	mw_profile_free(live);
	mw_profile_free(growth);
	return passed;
}

static void growth_is_compared_with_the_error_of_both(void) {
	CHECK(!growth_passes(1000, 1010, 1, 1, 0));
	CHECK(growth_passes(1000, 1010, 1, 1, 10 * 512));
	CHECK(growth_passes(1010, 1000, 1, 1, 0));
	CHECK(growth_passes(100000, 110000, 1000, 524288, 0));
	CHECK(!growth_passes(100000, 300000, 1000, 524288, 0));
}

/* What is left of a stack "outermost;...;leaf". */
static bool is_kept_by_library(const char *stack) {
	mw_known_t known[MW_KNOWN_MAX];
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "inuse_objects", "count");
	mw_profile_add_type(p, "inuse_space", "bytes");
	made_stack(p, stack, (const int64_t[]){2, 100}, NULL);
	size_t count = mw_known_leave_out(p, known);
	CHECK_EQ(count, 1 - p->sample_count);
	if (count == 1)
		CHECK(known[0].objects == 2 && known[0].bytes == 100);
	mw_profile_free(p);
	return count == 1;
}

static void what_libraries_keep(void) {
	CHECK(is_kept_by_library("main;__GI__IO_puts;__GI__IO_file_doallocate"));
	CHECK(is_kept_by_library("main;printf;_IO_file_doallocate"));
	CHECK(is_kept_by_library("main;setlocale;_nl_load_locale;strdup"));
	CHECK(is_kept_by_library("Py_BytesMain;Py_InitializeFromConfig;PyList_New"));
	CHECK(!is_kept_by_library("main;fopen"));
	CHECK(!is_kept_by_library("main;leak_here"));
	CHECK(!is_kept_by_library("main;my_IO_thing;read_file"));
	CHECK(!is_kept_by_library("Py_BytesMain;Py_RunMain;_PyEval_EvalFrameDefault;leak"));
}

int main(void) {
	RUN(exact_values_are_compared_as_they_are);
	RUN(estimates_fail_where_the_limit_is_passed_for_certain);
	RUN(growth_is_compared_with_the_error_of_both);
	RUN(what_libraries_keep);
	return 0;
}
