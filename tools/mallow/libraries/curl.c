/* SPDX-License-Identifier: MIT
 * curl.c -- loads libcurl. */
#include "libraries/curl.h"

#include "libraries/load_library.h"

mw_curl_t mw_curl;

int mw_curl_load(const char *purpose, mw_error_t *error) {
	static const mw_library_function_t functions[] = {
#define FUNCTION(name) {"curl_" #name, offsetof(mw_curl_t, name)},
		MW_CURL_FUNCTIONS(FUNCTION)
#undef FUNCTION
	};
	static const mw_library_t library = {
		.file = "libcurl.so.4",
		.other_file = "libcurl-gnutls.so.4",
		.package = "libcurl4",
		.functions = functions,
		.function_count = sizeof(functions) / sizeof(functions[0]),
	};
	if (mw_curl.easy_init != NULL)
		return 0;
	return mw_library_load(&library, &mw_curl, purpose, error);
}
