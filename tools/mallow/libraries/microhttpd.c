/* SPDX-License-Identifier: MIT
 * microhttpd.c -- loads libmicrohttpd. */
#include "libraries/microhttpd.h"

#include "libraries/load_library.h"

mw_microhttpd_t mw_microhttpd;

int mw_microhttpd_load(mw_error_t *error) {
	static const mw_library_function_t functions[] = {
#define FUNCTION(name) {"MHD_" #name, offsetof(mw_microhttpd_t, name)},
		MW_MICROHTTPD_FUNCTIONS(FUNCTION)
#undef FUNCTION
	};
	static const mw_library_t library = {
		.file = "libmicrohttpd.so.12",
		.package = "libmicrohttpd12",
		.functions = functions,
		.function_count = sizeof(functions) / sizeof(functions[0]),
	};
	if (mw_microhttpd.start_daemon != NULL)
		return 0;
	return mw_library_load(&library, &mw_microhttpd, "cannot serve pages", error);
}
