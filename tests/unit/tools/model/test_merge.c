/* SPDX-License-Identifier: MIT
 * test_merge.c -- sums and differences of profiles: what is matched, what is left, what saturates.
 */
#include <stdlib.h>
#include <string.h>

#include "made_profile.h"
#include "model/merge.h"
#include "view/common/view.h"
#include "view/table/tables.h"

static mw_error_t error;

static mw_profile_t *make_profile(const char *type, const char *stack, int64_t value) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, type, "bytes");
	/* Numbers of strings and locations are to differ between profiles. */
	mw_profile_intern(p, stack);
	made_stack(p, stack, (const int64_t[]){value}, NULL);
	return p;
}

static void check_folded(const mw_profile_t *p, size_t type, const char *want) {
	char *text;
	size_t length;
	mw_view_t view = {.name = "collapsed", .profile = p, .ratio = 1, .type = type};
	view.out = open_memstream(&text, &length);
	CHECK(view.out != NULL && mw_view_collapsed(&view, &error) == 0);
	fclose(view.out);
	CHECK_STR(text, want);
	free(text);
}

static void same_stacks_meet(void) {
	mw_profile_t *a = make_profile("space", "main;f+g;h", 10);
	mw_profile_t *b = make_profile("space", "main;f+g;h", 32);
	made_stack(b, "main;f", (const int64_t[]){5}, NULL);
	mw_profile_add(a, b);
	mw_profile_combine(a);
	check_folded(a, 0, "main;f;g;h 42\nmain;f 5\n");
	mw_profile_subtract(a, b);
	mw_profile_combine(a);
	check_folded(a, 0, "main;f;g;h 10\n");
	mw_profile_free(a);
	mw_profile_free(b);
}

/* A profile whose table has a function that nothing refers to, and later an equal one in use: as
 * after names were looked up that the file has, too. */
static mw_profile_t *profile_with_duplicate(void) {
	mw_profile_t *p = make_profile("space", "main;f", 10);
	const mw_line_t *line = &p->lines[p->locations[1].line_first];
	const mw_function_t duplicate = p->functions[line->function];
	mw_line_t moved = *line;
	moved.function = mw_profile_append_function(p, &duplicate);
	CHECK(moved.function != line->function);
	mw_profile_set_lines(p, 1, &moved, 1);
	return p;
}

static void equal_functions_meet(void) {
	mw_profile_t *a = profile_with_duplicate(), *b = profile_with_duplicate();
	mw_profile_subtract(a, b);
	mw_profile_combine(a);
	CHECK_EQ(a->sample_count, 1);
	CHECK_EQ(mw_profile_values(a, 0)[0], 0);
	mw_profile_free(a);
	mw_profile_free(b);
}

static void labels_keep_samples_apart(void) {
	mw_profile_t *p = make_profile("space", "main;f", 1);
	const mw_string_t key = mw_profile_intern(p, "thread");
	const mw_label_t one = {.key = key, .text = mw_profile_intern(p, "one")};
	made_stack(p, "main;f", (const int64_t[]){2}, &one);
	made_stack(p, "main;f", (const int64_t[]){4}, &one);
	mw_profile_combine(p);
	CHECK_EQ(p->sample_count, 2);
	CHECK_EQ(mw_profile_total(p, 0), 7);
	mw_profile_free(p);
}

static void types_are_matched_by_name(void) {
	mw_profile_t *a = mw_profile_new(), *b = mw_profile_new();
	mw_profile_add_type(a, "objects", "count");
	mw_profile_add_type(a, "space", "bytes");
	made_stack(a, "main", (const int64_t[]){1, 100}, NULL);
	mw_profile_add_type(b, "space", "bytes");
	mw_profile_add_type(b, "other", "count");
	made_stack(b, "main", (const int64_t[]){11, 7}, NULL);
	CHECK_EQ(mw_profile_keep_types_of(a, b), 1);
	CHECK_EQ(mw_profile_keep_types_of(b, a), 1);
	mw_profile_add(a, b);
	mw_profile_combine(a);
	check_folded(a, 0, "main 111\n");
	mw_profile_t *none = make_profile("elsewhere", "main", 1);
	CHECK_EQ(mw_profile_keep_types_of(a, none), 0);
	CHECK_EQ(mw_profile_total(a, 0), 111);
	mw_profile_free(a);
	mw_profile_free(b);
	mw_profile_free(none);
}

static void normalized_to_the_base(void) {
	mw_profile_t *p = make_profile("space", "main;f", 300),
		     *base = make_profile("space", "main", 100);
	made_stack(p, "main;g", (const int64_t[]){100}, NULL);
	mw_profile_normalize(p, base);
	check_folded(p, 0, "main;f 75\nmain;g 25\n");
	mw_profile_t *nothing = make_profile("space", "main", 0);
	mw_profile_normalize(nothing, base); /* divides by nothing */
	CHECK_EQ(mw_profile_total(nothing, 0), 0);
	mw_profile_free(p);
	mw_profile_free(base);
	mw_profile_free(nothing);
}

static void sums_stay_in_range(void) {
	mw_profile_t *a = make_profile("space", "main", INT64_MAX);
	mw_profile_t *b = make_profile("space", "main", INT64_MAX);
	mw_profile_add(a, b);
	mw_profile_combine(a);
	CHECK_EQ(mw_profile_values(a, 0)[0], INT64_MAX);
	mw_profile_t *least = make_profile("space", "main", INT64_MIN);
	mw_profile_subtract(a, least);
	mw_profile_combine(a);
	CHECK_EQ(mw_profile_values(a, 0)[0], INT64_MAX);
	mw_profile_free(a);
	mw_profile_free(b);
	mw_profile_free(least);
}

static void copies_are_whole(void) {
	mw_profile_t *p = make_profile("space", "main;f+g;h", 10), *copy = mw_profile_copy(p);
	mw_profile_free(p);
	check_folded(copy, 0, "main;f;g;h 10\n");
	CHECK_STR(mw_profile_string(copy, copy->mappings[1].path), "/bin/made");
	mw_profile_free(copy);
}

int main(void) {
	RUN(same_stacks_meet);
	RUN(equal_functions_meet);
	RUN(labels_keep_samples_apart);
	RUN(types_are_matched_by_name);
	RUN(normalized_to_the_base);
	RUN(sums_stay_in_range);
	RUN(copies_are_whole);
	return 0;
}
