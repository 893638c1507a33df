/* SPDX-License-Identifier: MIT
 * test_report.c -- reports against golden files.  MALLOW_REFRESH_GOLDEN=1 writes them anew: look at
 * the difference before it is committed. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "golden.h"
#include "report/report.h"
#include "report/text/units.h"
#include "state/layout.h"
#include "test.h"

static mw_error_t error;

static void check_report(const char *name, const mw_profile_t *p,
			 const mw_report_options_t *options) {
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	CHECK(out != NULL && mw_report_print(out, p, options, &error) == 0);
	fclose(out);
	check_golden(name, text);
	free(text);
}

/* A location with up to three functions, innermost first. */
static uint32_t add_location(mw_profile_t *p, uint32_t mapping, uint64_t address,
			     const char *const *names, const char *file, const int64_t *lines) {
	uint32_t location = mw_profile_add_location(p, mapping, address, false);
	mw_line_t line[3];
	size_t count = 0;
	for (; count < 3 && names[count] != NULL; count++) {
		mw_function_t f = {.name = mw_profile_intern(p, names[count]),
				   .system_name = mw_profile_intern(p, names[count]),
				   .file = mw_profile_intern(p, file)};
		line[count] = (mw_line_t){mw_profile_add_function(p, &f), lines[count]};
	}
	mw_profile_set_lines(p, location, line, count);
	return location;
}

static mw_profile_t *new_profile(const char *program, int64_t period) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	p->origin.program = mw_profile_intern(p, program);
	p->origin.pid = 4711;
	p->time_ns = 1700000000000000000;
	p->duration_ns = 35200000000;
	p->period = period;
	return p;
}

static void add_sample(mw_profile_t *p, const uint32_t *locations, size_t depth, int64_t objects,
		       int64_t bytes, bool zero) {
	const int64_t values[4] = {objects * 2, bytes * 2, objects, bytes};
	mw_label_t label = {.key = mw_profile_intern(p, MW_LABEL_REQUEST),
			    .unit = mw_profile_intern(p, "bytes")};
	mw_profile_add_sample(p, locations, depth, values, &label, zero ? 1 : 0);
}

/* The example of the tutorials, every allocation recorded. */
static mw_profile_t *tutorial(void) {
	mw_profile_t *p = new_profile("example", 1);
	const char *main_name[3] = {"main"}, *first[3] = {"do_something"},
		   *second[3] = {"do_something_else"};
	uint32_t m1 = add_location(p, 0, 0x10, main_name, "/src/example.c", (int64_t[]){19});
	uint32_t m2 = add_location(p, 0, 0x20, main_name, "/src/example.c", (int64_t[]){22});
	uint32_t a[] = {add_location(p, 0, 0x30, first, "/src/example.c", (int64_t[]){6}), m1};
	uint32_t b[] = {add_location(p, 0, 0x40, second, "/src/example.c", (int64_t[]){11}), m2};
	add_sample(p, a, 2, 79, 3343360, false);
	add_sample(p, a, 2, 1, 16, true);
	add_sample(p, b, 2, 39, 3263488, false);
	add_sample(p, b, 2, 1, 16, true);
	return p;
}

/* Inlining, recursion, modules without symbols, long names, hostile characters. */
static mw_profile_t *mixture(void) {
	mw_profile_t *p = new_profile("redis-server", 512 << 10);
	mw_mapping_t mapping = {.start = 0x7f0000000000,
				.limit = 0x7f0000100000,
				.offset = 0x1000,
				.path = mw_profile_intern(p, "/usr/lib/libplain.so.2")};
	uint32_t m = mw_profile_add_mapping(p, &mapping);
	const char *inlined[3] = {"zmalloc", "sdsnewlen", "createStringObject"};
	const char *recursive[3] = {"parseValue"};
	const char *top[3] = {"main"};
	const char *template[3] = {
		"std::unordered_map<std::string, std::vector<std::pair<unsigned long, double> >, "
		"std::hash<std::string> >::operator[]"};
	const char *hostile[3] = {"evil\x1b[31mname\n"};
	uint32_t root = add_location(p, 0, 1, top, "/src/redis/server.c", (int64_t[]){7000});
	uint32_t loc[8] = {
		add_location(p, 0, 2, inlined, "/src/redis/object.c", (int64_t[]){99, 120, 45}),
		add_location(p, 0, 3, recursive, "/src/redis/json.c", (int64_t[]){310}),
		add_location(p, 0, 4, template, "/usr/include/c++/12/bits/hashtable.h",
			     (int64_t[]){811}),
		add_location(p, 0, 5, hostile, "", (int64_t[]){0}),
		mw_profile_add_location(p, m, 0x7f0000000233, false),
		mw_profile_add_location(p, 0, 0x1234, false),
	};
	add_sample(p, (uint32_t[]){loc[0], loc[1], loc[1], loc[1], root}, 5, 150000, 80 << 20,
		   false);
	add_sample(p, (uint32_t[]){loc[1], loc[1], root}, 3, 1200, 7 << 20, false);
	add_sample(p, (uint32_t[]){loc[2], root}, 2, 31, 5LL << 30, false);
	add_sample(p, (uint32_t[]){loc[3], root}, 2, 1, 4096, false);
	add_sample(p, (uint32_t[]){loc[4], root}, 2, 12, 900 << 10, false);
	add_sample(p, (uint32_t[]){loc[5]}, 1, 1, 16, true);
	p->origin.args = mw_profile_intern(p, "redis-server *:6379 --save 3600 1 --appendonly yes "
					      "--dir /var/lib/redis/some/where/deep \x1b");
	p->origin.live_samples = 203;
	p->origin.alloc_samples = 4096;
	p->origin.flags = MW_STATE_FILE_FULL | MW_STATE_RECORDS_FULL;
	return p;
}

static void tutorial_looks_right(void) {
	mw_profile_t *p = tutorial();
	check_report("tutorial", p, NULL);
	check_report("tutorial-lines", p, &(mw_report_options_t){.by_line = true});
	check_report("tutorial-objects", p,
		     &(mw_report_options_t){.sample_type = "inuse_objects", .sort_by_cum = true});
	mw_profile_free(p);
}

static void mixture_looks_right(void) {
	mw_profile_t *p = mixture();
	check_report("mixture", p, NULL);
	check_report("mixture-lines", p, &(mw_report_options_t){.by_line = true});
	check_report("mixture-allocated", p, &(mw_report_options_t){.sample_type = "alloc_space"});
	check_report("mixture-limited", p, &(mw_report_options_t){.row_limit = 2});
	check_report("mixture-80-columns", p, &(mw_report_options_t){.columns = 80});
	check_report("mixture-80-columns-lines", p,
		     &(mw_report_options_t){.columns = 80, .by_line = true});
	mw_profile_free(p);
}

static void nothing_looks_right(void) {
	mw_profile_t *p = new_profile("true", 512 << 10);
	check_report("nothing", p, NULL);
	mw_profile_free(p);
}

static void unknown_type_is_an_error(void) {
	mw_profile_t *p = tutorial();
	mw_report_options_t options = {.sample_type = "bytes"};
	CHECK(mw_report_print(stdout, p, &options, &error) == -1);
	CHECK_STR(error.text, "this profile has no sample type 'bytes'; it has alloc_objects, "
			      "alloc_space, inuse_objects, inuse_space");
	mw_profile_free(p);
}

static void check_bytes(int64_t bytes, const char *want) {
	char text[32];
	CHECK_STR(mw_format_bytes(bytes, text, sizeof(text)), want);
}

static void check_count(int64_t count, const char *want) {
	char text[32];
	CHECK_STR(mw_format_count(count, text, sizeof(text)), want);
}

static void numbers_are_short(void) {
	check_bytes(0, "0 B");
	check_bytes(1023, "1023 B");
	check_bytes(1024, "1.00 KiB");
	check_bytes(-2048, "-2.00 KiB");
	check_bytes(10235, "10.0 KiB");
	check_bytes(1048575, "1.00 MiB");
	check_bytes(1047000, "1022 KiB");
	check_bytes(6606864, "6.30 MiB");
	check_bytes(INT64_MAX, "8.00 EiB");
	check_count(99999, "99999");
	check_count(100000, "100k");
	check_count(999499, "999k");
	check_count(999500, "1.00M");
	check_count(-1234567, "-1.23M");
	check_count(INT64_MAX, "9.22E");
}

int main(void) {
	setenv("TZ", "UTC", 1);
	tzset();
	RUN(numbers_are_short);
	RUN(tutorial_looks_right);
	RUN(mixture_looks_right);
	RUN(nothing_looks_right);
	RUN(unknown_type_is_an_error);
	CHECK(!golden_failed);
	return 0;
}
