/* SPDX-License-Identifier: MIT
 * test_load_library.c -- libraries that are loaded when they are needed: all functions are found,
 * and what is missing is named. */
#include "libraries/load_library.h"

#include "libraries/capstone.h"
#include "libraries/curl.h"
#include "libraries/debuginfo_client.h"
#include "libraries/microhttpd.h"
#include "libraries/sqlite.h"
#include "test.h"

typedef struct pointers {
	int (*first)(void);
	int (*second)(void);
} pointers_t;

static const mw_library_function_t functions[] = {
	{"getpid", offsetof(pointers_t, first)},
	{"mw_nobody_has_this", offsetof(pointers_t, second)},
};

static void a_file_that_is_not_there_is_named(void) {
	pointers_t pointers = {NULL, NULL};
	mw_error_t error;
	mw_library_t library = {.file = "libnobody.so.1",
				.package = "libnobody1",
				.functions = functions,
				.function_count = 1};
	CHECK_EQ(mw_library_load(&library, &pointers, "cannot play", &error), -1);
	CHECK_STR(error.text,
		  "cannot play: libnobody.so.1 is not installed; install package libnobody1");
	CHECK(pointers.first == NULL);
	library.other_file = "libc.so.6";
	CHECK_EQ(mw_library_load(&library, &pointers, "cannot play", &error), 0);
	CHECK(pointers.first != NULL && pointers.first() > 0);
}

static void a_function_that_is_not_there_is_named(void) {
	pointers_t pointers = {NULL, NULL};
	mw_error_t error;
	const mw_library_t library = {.file = "libc.so.6",
				      .package = "libc6",
				      .functions = functions,
				      .function_count = 2};
	CHECK_EQ(mw_library_load(&library, &pointers, "cannot play", &error), -1);
	CHECK_STR(error.text,
		  "cannot play: libc.so.6 lacks mw_nobody_has_this; install package libc6 again");
	CHECK(pointers.first == NULL);
	CHECK_EQ(mw_library_load(&library, &pointers, "cannot play", NULL), -1);
}

/* Their packages are among those that a build needs. */
static void each_library_of_the_folder_is_loaded(void) {
	mw_error_t error = {.text = ""};
	CHECK(mw_curl.easy_init == NULL && mw_sqlite.open_v2 == NULL);
	for (int i = 0; i < 2; i++) {
		if (mw_capstone_load(&error) != 0 || mw_curl_load("cannot send", &error) != 0 ||
		    mw_debuginfod_load(&error) != 0 || mw_microhttpd_load(&error) != 0 ||
		    mw_sqlite_load("cannot open the store", &error) != 0)
			CHECK_STR(error.text, "");
	}
	csh decoder;
	CHECK_EQ(mw_capstone.open(CS_ARCH_X86, CS_MODE_64, &decoder), CS_ERR_OK);
	mw_capstone.close(&decoder);
	sqlite3 *base = NULL;
	CHECK_EQ(mw_sqlite.open_v2(":memory:", &base, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	CHECK_EQ(mw_sqlite.exec(base, "create table t(a)", NULL, NULL, NULL), SQLITE_OK);
	CHECK_EQ(mw_sqlite.close(base), SQLITE_OK);
	CHECK_STR(mw_curl.easy_strerror(CURLE_OK), "No error");
}

int main(void) {
	RUN(a_file_that_is_not_there_is_named);
	RUN(a_function_that_is_not_there_is_named);
	RUN(each_library_of_the_folder_is_loaded);
	return 0;
}
