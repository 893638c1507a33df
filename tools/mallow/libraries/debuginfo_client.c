/* SPDX-License-Identifier: MIT
 * debuginfo_client.c -- loads libdebuginfod. */
#include "libraries/debuginfo_client.h"

#include "libraries/load_library.h"

mw_debuginfod_t mw_debuginfod;

int mw_debuginfod_load(mw_error_t *error) {
	static const mw_library_function_t functions[] = {
#define FUNCTION(name) {"debuginfod_" #name, offsetof(mw_debuginfod_t, name)},
		MW_DEBUGINFOD_FUNCTIONS(FUNCTION)
#undef FUNCTION
	};
	static const mw_library_t library = {
		.file = "libdebuginfod.so.1",
		.package = "libdebuginfod1",
		.functions = functions,
		.function_count = sizeof(functions) / sizeof(functions[0]),
	};
	if (mw_debuginfod.begin != NULL)
		return 0;
	return mw_library_load(&library, &mw_debuginfod, "cannot ask debuginfod servers", error);
}
