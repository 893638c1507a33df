/* SPDX-License-Identifier: MIT
 * test_suppress.c -- LeakSanitizer's suppressions: the matcher against one that tries everything,
 * the file's syntax, and what is left out and counted. */
#include <stdlib.h>
#include <string.h>

#include "check/suppress.h"
#include "test.h"

static void patterns_that_people_write(void) {
	static const struct {
		const char *pattern, *text;
		bool found;
	} rows[] = {
		{"parse", "parse_request", true},
		{"parse", "http::parse_request(char const*)", true},
		{"Parse", "parse_request", false},
		{"parse_*_header", "http_parse_any_header_line", true},
		{"parse_*_header", "parse_header", false},
		{"^parse", "parse_request", true},
		{"^parse", "http_parse", false},
		{"request$", "parse_request", true},
		{"request$", "parse_requests", false},
		{"^main$", "main", true},
		{"^main$", "domain", false},
		{"^*main", "domain", true},
		{"*", "anything", true},
		{"^lib*.so$", "libc.so", true},
		{"^lib*.so$", "libc.so.6", false},
		{"libssl*.so.3", "/usr/lib/x86_64-linux-gnu/libssl.so.3", true},
		{"a$b", "xa$by", true}, /* only at the end it is the end */
		{"foo$", "foofoo", true},
		{"a*b*c", "aXbXbXc", true},
		{"a*b*c", "acb", false},
		{"long_name", "long", false},
		{"x", "", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (mw_suppression_matches(rows[i].pattern, rows[i].text) != rows[i].found) {
			fprintf(stderr, "'%s' and '%s'\n", rows[i].pattern, rows[i].text);
			CHECK(false);
		}
}

/* Tries every length of every star. */
static bool slow_here(const char *pattern, const char *text) {
	if (*pattern == '\0')
		return true;
	if (*pattern == '$' && pattern[1] == '\0')
		return *text == '\0';
	if (*pattern != '*')
		return *pattern == *text && slow_here(pattern + 1, text + 1);
	for (;; text++) {
		if (slow_here(pattern + 1, text))
			return true;
		if (*text == '\0')
			return false;
	}
}

static bool slow_matches(const char *pattern, const char *text) {
	if (*pattern == '^')
		return slow_here(pattern + 1, text);
	for (;; text++) {
		if (slow_here(pattern, text))
			return true;
		if (*text == '\0')
			return false;
	}
}

/* The words of an alphabet by number: every one of up to six letters comes up. */
static void word_of(unsigned number, const char *alphabet, char *word) {
	unsigned count = (unsigned)strlen(alphabet);
	while (number > 0) {
		*word++ = alphabet[--number % count];
		number /= count;
	}
	*word = '\0';
}

static void every_short_pattern(void) {
	char pattern[16], text[16];
	unsigned found = 0;
	for (unsigned p = 0; p < 3905; p++) { /* 5 letters of 5 kinds */
		word_of(p, "ab*^$", pattern);
		for (unsigned t = 0; t < 127; t++) { /* 6 letters of 2 kinds */
			word_of(t, "ab", text);
			bool got = mw_suppression_matches(pattern, text);
			if (got != slow_matches(pattern, text)) {
				fprintf(stderr, "'%s' and '%s'\n", pattern, text);
				CHECK(false);
			}
			found += got;
		}
	}
	CHECK(found > 1000);
}

/* Trying everything would take years. */
static void stars_do_not_multiply(void) {
	enum { LENGTH = 100000 };
	char *text = calloc(LENGTH + 1, 1);
	CHECK(text != NULL);
	memset(text, 'a', LENGTH);
	CHECK(!mw_suppression_matches("a*a*a*a*a*a*a*a*a*a*b", text));
	CHECK(!mw_suppression_matches("aaaaaaaaaaaaaaaaaaaab$", text));
	CHECK(mw_suppression_matches("^a*a*a*a*a*a*a*a*a*a$", text));
	free(text);
}

static void files(void) {
	mw_suppressions_t s = {.rows = NULL};
	mw_error_t error;
	CHECK_EQ(mw_suppressions_parse(&s, "f",
				       "# a comment\n\n  leak:one\t \r\nleak:two words\n\tleak:*",
				       &error),
		 0);
	CHECK_EQ(s.count, 3);
	CHECK_STR(s.rows[0].pattern, "one");
	CHECK_STR(s.rows[1].pattern, "two words");
	CHECK_STR(s.rows[2].pattern, "*");
	static const char *const wrong[] = {"leak:a\nrace:b\n", "leak:a\nleak:\n", "leak:a\nleak",
					    "leak:a\nb"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(mw_suppressions_parse(&s, "name", wrong[i], &error), -1);
		CHECK(strstr(error.text, "name: line 2 is not a suppression") != NULL);
	}
	mw_suppressions_release(&s);
}

static uint32_t add_frame(mw_profile_t *p, const char *name, const char *file, const char *module,
			  uint64_t address) {
	mw_mapping_t mapping = {.start = address & ~(uint64_t)0xfff,
				.limit = (address & ~(uint64_t)0xfff) + 0x1000,
				.path = mw_profile_intern(p, module)};
	uint32_t location =
		mw_profile_add_location(p, mw_profile_add_mapping(p, &mapping), address, false);
	mw_function_t function = {.name = mw_profile_intern(p, name),
				  .file = mw_profile_intern(p, file)};
	mw_line_t line = {.function = mw_profile_add_function(p, &function), .line = 1};
	mw_profile_set_lines(p, location, &line, 1);
	return location;
}

static void stacks(void) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	uint32_t caller = add_frame(p, "main", "main.c", "/bin/server", 0x1000);
	uint32_t leaves[] = {add_frame(p, "keep", "keep.c", "/bin/server", 0x1100),
			     add_frame(p, "cache", "lru.c", "/bin/server", 0x1200),
			     add_frame(p, "init", "ssl.c", "/lib/libssl.so.3", 0x2000)};
	for (int64_t i = 0; i < 3; i++) {
		uint32_t stack[] = {leaves[i], caller};
		int64_t values[] = {i + 1, 100 * (i + 1), i + 1, 10 * (i + 1)};
		mw_profile_add_sample(p, stack, 2, values, NULL, 0);
	}
	mw_suppressions_t s = {.rows = NULL};
	mw_error_t error;
	/* By file and by module; the first that matches counts. */
	CHECK_EQ(mw_suppressions_parse(&s, "f", "leak:^lru\nleak:libssl\nleak:ssl.c\nleak:none",
				       &error),
		 0);
	mw_suppress(&s, p, true);
	CHECK_EQ(p->sample_count, 1);
	CHECK_EQ(mw_profile_values(p, 0)[3], 10);
	CHECK_EQ(s.rows[0].objects, 2);
	CHECK_EQ(s.rows[0].bytes, 20);
	CHECK_EQ(s.rows[1].bytes, 30);
	CHECK_EQ(s.rows[2].bytes, 0);
	CHECK_EQ(s.rows[3].bytes, 0);
	/* A caller's name is as good as the leaf's; not counted this time. */
	CHECK_EQ(mw_suppressions_parse(&s, "f", "leak:^main$", &error), 0);
	mw_suppress(&s, p, false);
	CHECK_EQ(p->sample_count, 0);
	CHECK_EQ(s.rows[4].bytes, 0);
	mw_suppressions_release(&s);
	mw_profile_free(p);
}

int main(void) {
	RUN(patterns_that_people_write);
	RUN(every_short_pattern);
	RUN(stars_do_not_multiply);
	RUN(files);
	RUN(stacks);
	return 0;
}
