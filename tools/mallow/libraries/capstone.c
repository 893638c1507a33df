/* SPDX-License-Identifier: MIT
 * capstone.c -- loads capstone, or uses what is linked. */
#include "libraries/capstone.h"

#include "libraries/load_library.h"

mw_capstone_t mw_capstone;

#ifdef MW_LINKS_LIBRARIES

int mw_capstone_load(mw_error_t *error) {
	(void)error;
#define TAKE(name) mw_capstone.name = cs_##name;
	MW_CAPSTONE_FUNCTIONS(TAKE)
#undef TAKE
	return 0;
}

#else

#define TEXT_OF(number) TEXT(number)
#define TEXT(number) #number

int mw_capstone_load(mw_error_t *error) {
	static const mw_library_function_t functions[] = {
#define FUNCTION(name) {"cs_" #name, offsetof(mw_capstone_t, name)},
		MW_CAPSTONE_FUNCTIONS(FUNCTION)
#undef FUNCTION
	};
	static const mw_library_t library = {
		.file = "libcapstone.so." TEXT_OF(CS_API_MAJOR),
		.package = "libcapstone" TEXT_OF(CS_API_MAJOR),
		.functions = functions,
		.function_count = sizeof(functions) / sizeof(functions[0]),
	};
	if (mw_capstone.open != NULL)
		return 0;
	return mw_library_load(&library, &mw_capstone, "cannot decode instructions", error);
}

#endif
