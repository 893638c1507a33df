/* SPDX-License-Identifier: MIT
 * test_rows.c -- the live view's rows: sums, rates, growth, order, filter. */
#include <stdbool.h>

#include "screen/rows.h"
#include "test.h"
#include "view/select/selection.h"

typedef struct entry {
	const char *leaf, *caller;
	int64_t live_bytes, alloc_bytes;
} entry_t;

static uint32_t add_location(mw_profile_t *p, const char *name) {
	/* The address stands for the name, the same in every profile. */
	uint64_t address = 0;
	for (const char *c = name; *c != '\0'; c++)
		address = address * 31 + (uint64_t)*c;
	uint32_t location = mw_profile_add_location(p, 0, address, false);
	mw_function_t function = {.name = mw_profile_intern(p, name)};
	function.system_name = function.name;
	mw_line_t line = {.function = mw_profile_add_function(p, &function)};
	mw_profile_set_lines(p, location, &line, 1);
	return location;
}

static void update(mw_rows_t *rows, mw_names_t *names, const entry_t *entries, size_t count,
		   double now_s) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	for (size_t i = 0; i < count; i++) {
		uint32_t frames[2] = {add_location(p, entries[i].leaf),
				      add_location(p, entries[i].caller)};
		int64_t values[4] = {1, entries[i].alloc_bytes, 1, entries[i].live_bytes};
		mw_profile_add_sample(p, frames, 2, values, NULL, 0);
	}
	static const mw_symbolize_options_t options;
	mw_names_add(names, p, &options);
	mw_rows_update(rows, p, names, now_s);
	mw_profile_free(p);
}

static const entry_t before[] = {{"alpha", "main", 1000, 5000}, {"beta", "main", 3000, 3000}};
static const entry_t after[] = {
	{"alpha", "main", 1500, 205000}, {"beta", "main", 2000, 3000}, {"beta", "other", 7, 7}};

static void stacks_are_told_apart(void) {
	mw_names_t *names = mw_names_new();
	mw_rows_t *rows = mw_rows_new(MW_FOLD_STACK);
	update(rows, names, before, 2, 100);
	mw_rows_mark(rows);
	update(rows, names, after, 3, 110);
	size_t count;
	const mw_live_row_t *const *r = mw_rows_sorted(rows, MW_ROWS_BY_LIVE, &count);
	CHECK_EQ(count, 3);
	CHECK_STR(r[0]->text, "beta < main");
	CHECK_STR(r[1]->text, "alpha < main");
	CHECK_STR(r[2]->text, "beta < other");
	CHECK_EQ(r[0]->live_bytes, 2000);
	r = mw_rows_sorted(rows, MW_ROWS_BY_GROWTH, &count);
	CHECK_STR(r[0]->text, "alpha < main");
	CHECK_EQ(r[0]->live_bytes - r[0]->marked_bytes, 500);
	CHECK_STR(r[2]->text, "beta < main");
	/* 200,000 bytes in 10 s; after five times the smoothing the rate is nearly that. */
	r = mw_rows_sorted(rows, MW_ROWS_BY_RATE, &count);
	CHECK_STR(r[0]->text, "alpha < main");
	CHECK_NEAR(r[0]->alloc_bytes_per_s, 20000, 200);
	mw_rows_free(rows);
	mw_names_free(names);
}

/* A location where `inner` was inlined into `outer`. */
static uint32_t add_inlined(mw_profile_t *p, const char *inner, const char *outer) {
	uint32_t location = add_location(p, inner);
	mw_line_t lines[2];
	const char *names[2] = {inner, outer};
	for (int i = 0; i < 2; i++) {
		mw_function_t function = {.name = mw_profile_intern(p, names[i])};
		function.system_name = function.name;
		lines[i].function = mw_profile_add_function(p, &function);
		lines[i].line = 0;
	}
	mw_profile_set_lines(p, location, lines, 2);
	return location;
}

static mw_profile_t *make_inlined(void) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	uint32_t inlined[2] = {add_inlined(p, "allocate", "vector::grow"), add_location(p, "main")};
	uint32_t plain[2] = {add_location(p, "vector::copy"), inlined[1]};
	uint32_t other[2] = {add_location(p, "list::add"), inlined[1]};
	mw_profile_add_sample(p, inlined, 2, (const int64_t[]){1, 1000, 1, 1000}, NULL, 0);
	mw_profile_add_sample(p, plain, 2, (const int64_t[]){1, 30, 1, 30}, NULL, 0);
	mw_profile_add_sample(p, other, 2, (const int64_t[]){1, 5, 1, 5}, NULL, 0);
	return p;
}

/* What rows of a fold hold in all with a filter; `first` is the largest one's text. */
static int64_t sum_of(mw_fold_t fold, const char *filter, const char **first) {
	static const mw_symbolize_options_t options;
	static mw_rows_t *rows;
	mw_names_t *names = mw_names_new();
	mw_profile_t *p = make_inlined();
	mw_pattern_t *pattern;
	mw_error_t error;
	if (rows != NULL)
		mw_rows_free(rows);
	rows = mw_rows_new(fold);
	CHECK_EQ(mw_pattern_make("filter", filter, &pattern, &error), 0);
	mw_names_add(names, p, &options);
	mw_names_focus(names, pattern);
	mw_rows_update(rows, p, names, 1);
	size_t count;
	const mw_live_row_t *const *r = mw_rows_sorted(rows, MW_ROWS_BY_LIVE, &count);
	int64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += r[i]->live_bytes;
	*first = count > 0 ? r[0]->text : "";
	mw_profile_free(p);
	mw_names_free(names);
	return sum;
}

/* The filter takes the stacks that `report --focus` takes: functions that others were inlined into
 * count, and callers. */
static void the_filter_selects_as_focus_does(void) {
	const char *first;
	CHECK_EQ(sum_of(MW_FOLD_STACK, NULL, &first), 1035);
	CHECK_STR(first, "allocate < vector::grow < main");
	for (mw_fold_t fold = MW_FOLD_STACK; fold < MW_FOLD_CALLEES; fold++)
		CHECK_EQ(sum_of(fold, "vector", &first), 1030);
	CHECK_EQ(sum_of(MW_FOLD_MODULE, "vector", &first), 1030);
	CHECK_EQ(sum_of(MW_FOLD_FUNCTION, "vector", &first), 1030);
	CHECK_STR(first, "allocate");
	/* Each of main, vector::grow, allocate, and of main and vector::copy. */
	CHECK_EQ(sum_of(MW_FOLD_CALLEES, "vector", &first), 3060);
	CHECK_STR(first, "main");
	CHECK_EQ(sum_of(MW_FOLD_STACK, "^main$", &first), 1035);
	CHECK_EQ(sum_of(MW_FOLD_STACK, "nothing", &first), 0);
	static const char *const filters[] = {"vector", "grow", "^allocate$", "main", "list|copy"};
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		mw_profile_t *p = make_inlined();
		const mw_selection_t selection = {.focus = filters[i]};
		CHECK_EQ(mw_selection_apply(p, &selection, NULL), 0);
		CHECK_EQ(sum_of(MW_FOLD_STACK, filters[i], &first), mw_profile_total(p, 3));
		mw_profile_free(p);
	}
}

static void functions_are_added_up(void) {
	mw_names_t *names = mw_names_new();
	mw_rows_t *rows = mw_rows_new(MW_FOLD_FUNCTION);
	update(rows, names, after, 3, 1);
	size_t count;
	const mw_live_row_t *const *r = mw_rows_sorted(rows, MW_ROWS_BY_LIVE, &count);
	CHECK_EQ(count, 2);
	CHECK_STR(r[0]->text, "beta");
	CHECK_EQ(r[0]->live_bytes, 2007);
	mw_rows_free(rows);
	mw_names_free(names);
}

static void callees_count_to_their_callers(void) {
	static const entry_t recursive[] = {{"alpha", "alpha", 100, 100}, {"beta", "alpha", 7, 7}};
	mw_names_t *names = mw_names_new();
	mw_rows_t *rows = mw_rows_new(MW_FOLD_CALLEES);
	update(rows, names, recursive, 2, 1);
	size_t count;
	const mw_live_row_t *const *r = mw_rows_sorted(rows, MW_ROWS_BY_LIVE, &count);
	CHECK_EQ(count, 2);
	CHECK_STR(r[0]->text, "alpha");
	CHECK_EQ(r[0]->live_bytes, 107); /* once for each stack it is in */
	CHECK_EQ(r[1]->live_bytes, 7);
	/* Nothing has grown: by live bytes then. */
	r = mw_rows_sorted(rows, MW_ROWS_BY_RATE, &count);
	CHECK_STR(r[0]->text, "alpha");
	mw_rows_free(rows);
	mw_names_free(names);
}

/* The first rate is of the time there was, not faded in over seconds. */
static void the_first_rate_is_whole(void) {
	mw_names_t *names = mw_names_new();
	mw_rows_t *rows = mw_rows_new(MW_FOLD_STACK);
	update(rows, names, before, 2, 100);
	update(rows, names, after, 2, 100.5);
	size_t count;
	const mw_live_row_t *const *r = mw_rows_sorted(rows, MW_ROWS_BY_RATE, &count);
	CHECK_NEAR(r[0]->alloc_bytes_per_s, 400000, 1);
	mw_rows_free(rows);
	mw_names_free(names);
}

/* A reset takes the sums back to 0: no negative rate, and rows without anything go. */
static void a_reset_is_survived(void) {
	mw_names_t *names = mw_names_new();
	mw_rows_t *rows = mw_rows_new(MW_FOLD_STACK);
	update(rows, names, after, 3, 1);
	update(rows, names, before, 1, 2);
	size_t count;
	const mw_live_row_t *const *r = mw_rows_sorted(rows, MW_ROWS_BY_RATE, &count);
	CHECK_EQ(count, 1);
	CHECK_STR(r[0]->text, "alpha < main");
	CHECK(r[0]->alloc_bytes_per_s == 0);
	mw_rows_free(rows);
	mw_names_free(names);
}

/* What a wrapper allocates counts as its caller's, unless wrappers are shown. */
static void wrappers_are_left_out(void) {
	static const entry_t wrapped[] = {{"xmalloc", "alpha", 10, 10}, {"alpha", "main", 5, 5}};
	static const struct {
		mw_fold_t fold;
		const char *hidden, *shown;
	} ways[] = {{MW_FOLD_FUNCTION, "alpha", "xmalloc"},
		    {MW_FOLD_STACK, "alpha", "xmalloc < alpha"},
		    {MW_FOLD_CALLEES, "alpha", "alpha"}};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		for (int shown = 0; shown < 2; shown++) {
			mw_names_t *names = mw_names_new();
			mw_rows_t *rows = mw_rows_new(ways[i].fold);
			mw_names_show_wrappers(names, shown);
			update(rows, names, wrapped, 2, 1);
			size_t count;
			const mw_live_row_t *const *r =
				mw_rows_sorted(rows, MW_ROWS_BY_LIVE, &count);
			CHECK_STR(r[0]->text, shown ? ways[i].shown : ways[i].hidden);
			bool is_sum = ways[i].fold == MW_FOLD_CALLEES ||
				      (ways[i].fold == MW_FOLD_FUNCTION && !shown);
			CHECK_EQ(r[0]->live_bytes, is_sum ? 15 : 10);
			mw_rows_free(rows);
			mw_names_free(names);
		}
	}
}

int main(void) {
	RUN(wrappers_are_left_out);
	RUN(stacks_are_told_apart);
	RUN(the_filter_selects_as_focus_does);
	RUN(functions_are_added_up);
	RUN(callees_count_to_their_callers);
	RUN(the_first_rate_is_whole);
	RUN(a_reset_is_survived);
	return 0;
}
