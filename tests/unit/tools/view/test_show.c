/* SPDX-License-Identifier: MIT
 * test_show.c -- how times, rates, flags, names and texts of processes are shown. */
#include "cli/print.h"

#include <stdbool.h>

#include "state/layout.h"
#include "test.h"

static void test_rate(void) {
	char buffer[MW_SHOW_BYTES];
	CHECK_STR(mw_show_rate(1, buffer), "1 (exact)");
	CHECK_STR(buffer, "1 (exact)");
	CHECK_STR(mw_show_rate(100, buffer), "100 B");
	CHECK_STR(mw_show_rate(65536, buffer), "64 KiB");
	CHECK_STR(mw_show_rate(524288, buffer), "512 KiB");
	CHECK_STR(mw_show_rate(3 << 20, buffer), "3 MiB");
	CHECK_STR(mw_show_rate((uint64_t)1 << 40, buffer), "1 TiB");
	CHECK_STR(mw_show_rate(100000, buffer), "97.7 KiB");
	/* What a damaged file may say must come out as something. */
	CHECK(mw_show_rate(UINT64_MAX, buffer)[0] != '\0');
	CHECK_STR(mw_show_rate(0, buffer), "0 B");
}

static void test_duration(void) {
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{0, "0 ms"},
		{999000000, "999 ms"},
		{1000000000, "1.0 s"},
		{9900000000, "9.9 s"},
		{119000000000, "119 s"},
		{120000000000, "2 min"},
		{7199000000000, "119 min"},
		{7260000000000, "2 h 1 min"},
		{172800000000000, "2 d 0 h"},
	};
	char buffer[MW_SHOW_BYTES];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(mw_show_duration(cases[i].ns, buffer), cases[i].text);
	CHECK(mw_show_duration(UINT64_MAX, buffer)[0] != '\0');
}

static void test_time(void) {
	char buffer[MW_SHOW_BYTES];
	setenv("TZ", "UTC", 1);
	CHECK_STR(mw_show_time(0, buffer), "?");
	CHECK_STR(mw_show_time(1700000000000000000u, buffer), "2023-11-14 22:13:20");
	CHECK_EQ(strlen(mw_show_time(mw_now_ns(), buffer)), strlen("12:03:04"));
	CHECK(mw_show_time(UINT64_MAX, buffer)[0] != '\0');
}

static void test_text(void) {
	char buffer[8];
	CHECK_STR(mw_show_text("a\033[2Jb", buffer, sizeof(buffer)), "a?[2Jb");
	CHECK_STR(mw_show_text("longer than that", buffer, sizeof(buffer)), "longer ");
}

static void test_json_text(void) {
	json_t *value = mw_json_text("caf\xc3\xa9");
	CHECK_STR(json_string_value(value), "caf\xc3\xa9");
	json_decref(value);
	value = mw_json_text("caf\xe9 \xff");
	CHECK_STR(json_string_value(value), "caf? ?");
	json_decref(value);
}

static void test_file_name(void) {
	setenv("TZ", "UTC", 1);
	char *name = mw_profile_path(NULL, "a/b c.py", 12, 1700000000000000000u, ".pb.gz");
	CHECK_STR(name, "mallow.a_b_c.py.12.20231114-221320.pb.gz");
	free(name);
	name = mw_profile_path("dir/", "", 0, 0, ".heap");
	CHECK_STR(name, "dir/mallow.unknown.0.0.heap");
	free(name);
}

/* Each way a profile can be incomplete is put in words; the end of the process is none. */
static void test_flags(void) {
	for (uint32_t flag = MW_STATE_FILE_FULL, bit = 1; flag <= MW_STATE_MODULES_FULL;
	     flag <<= 1, bit++) {
		CHECK(mw_flag_text(bit) != NULL);
		CHECK(strcmp(mw_flag_name(bit), "unknown") != 0);
	}
	CHECK(mw_flag_text(0) == NULL);
	CHECK_STR(mw_flag_name(0), "ended");
	CHECK_STR(mw_flag_name(31), "unknown");
}

int main(void) {
	RUN(test_rate);
	RUN(test_duration);
	RUN(test_time);
	RUN(test_text);
	RUN(test_json_text);
	RUN(test_file_name);
	RUN(test_flags);
	return 0;
}
