/* SPDX-License-Identifier: MIT
 * test_fmt.c -- mw_fmt() against snprintf(3) on what both know, and its limits. */
#include <stdint.h>

#include "base/fmt.h"
#include "test.h"

#define SAME(...)                                                                                  \
	do {                                                                                       \
		char got[256], want[256];                                                          \
		size_t got_length = mw_fmt(got, sizeof got, __VA_ARGS__);                          \
		int want_length = snprintf(want, sizeof want, __VA_ARGS__);                        \
		CHECK_STR(got, want);                                                              \
		CHECK_EQ(got_length, want_length);                                                 \
	} while (0)

static void test_same_as_snprintf(void) {
	SAME("plain text");
	SAME("%d %d %d", 0, -1, INT32_MAX);
	SAME("%d", INT32_MIN);
	SAME("%ld %lu", INT64_MIN, UINT64_MAX);
	SAME("%lld %llu", (long long)INT64_MAX, 0ULL);
	SAME("%zu|%u", (size_t)123456789, 42u);
	SAME("%x %#x %lx %#lx %#x", 0xbeefu, 0xbeefu, 0xdeadbeefcafeUL, 0xdeadbeefcafeUL, 0u);
	SAME("%5d|%05d|", 42, 42);
	SAME("%05d %08x", -42, 0xabcu);
	SAME("%12s|%s", "right", "");
	SAME("%.3s|%.*s|%.0s|", "abcdef", 2, "xyz", "gone");
	SAME("%c%c%%", 'o', 'k');
	SAME("%p", (void *)0x7f0012345678);
}

static void test_null_string(void) {
	char text[32];
	const char *volatile null = NULL; /* hidden from the compiler's own check */
	mw_fmt(text, sizeof text, "%s", null);
	CHECK_STR(text, "(null)");
}

static void test_cut_at_capacity(void) {
	char text[8] = "xxxxxxx";
	CHECK_EQ(mw_fmt(text, 5, "%s", "123456789"), 9);
	CHECK_STR(text, "1234");
	CHECK_EQ(text[5], 'x');
	CHECK_EQ(mw_fmt(text, 0, "abc"), 3);
	CHECK_EQ(text[0], '1');
	CHECK_EQ(mw_fmt(NULL, 0, "%d", 12345), 5);
}

static void test_copy(void) {
	char text[8] = "xxxxxxx";
	CHECK_EQ(mw_fmt_copy(text, 5, "123456789"), 9);
	CHECK_STR(text, "1234");
	CHECK_EQ(text[5], 'x');
	CHECK_EQ(mw_fmt_copy(text, 5, "abcd"), 4);
	CHECK_STR(text, "abcd");
	CHECK_EQ(mw_fmt_copy(text, 5, ""), 0);
	CHECK_STR(text, "");
	CHECK_EQ(mw_fmt_copy(NULL, 0, "abc"), 3);
}

int main(void) {
	RUN(test_same_as_snprintf);
	RUN(test_null_string);
	RUN(test_cut_at_capacity);
	RUN(test_copy);
	return 0;
}
