/* SPDX-License-Identifier: MIT
 * test_names.c -- short names, of which the page's tests have the same list (web/test/names.json).
 */
#include <jansson.h>
#include <string.h>

#include "report/text/names.h"
#include "test.h"

static void names_are_short_as_the_pages_are(void) {
	json_t *pairs = json_load_file(MALLOW_TESTS "/../web/test/names.json", 0, NULL), *pair;
	size_t i;
	char got[512];
	CHECK(json_array_size(pairs) > 10);
	json_array_foreach(pairs, i, pair) {
		mw_name_without_arguments(json_string_value(json_array_get(pair, 0)), got,
					  sizeof(got));
		CHECK_STR(got, json_string_value(json_array_get(pair, 1)));
	}
	json_decref(pairs);
}

/* A buffer of any size holds the begin of the name, and nothing is written behind it. */
static void small_buffers(void) {
	const char name[] = "std::map<a, b<main::{lambda()#1}> >::find[abi:cxx11]<d>";
	char got[64];
	for (size_t size = 1; size < sizeof(got); size++) {
		memset(got, '#', sizeof(got));
		mw_name_without_arguments(name, got, size);
		CHECK(memchr(got, '\0', size) != NULL);
		CHECK(got[size] == '#');
	}
}

static void bare_names(void) {
	char got[128];
	mw_bare_name("std::__cxx11::to_string[abi:cxx11](int)", got, sizeof(got));
	CHECK_STR(got, "std::__cxx11::to_string");
	mw_bare_name("std::operator+[abi:cxx11]<char>(char const*)", got, sizeof(got));
	CHECK_STR(got, "std::operator+");
}

int main(void) {
	RUN(names_are_short_as_the_pages_are);
	RUN(small_buffers);
	RUN(bare_names);
	return 0;
}
