/* SPDX-License-Identifier: MIT
 * terminals.c -- loads libedit and ncurses, or uses what is linked. */
#include "libraries/terminals.h"

#include "libraries/load_library.h"

mw_editline_t mw_editline;
mw_ncurses_t mw_ncurses;

#ifdef MW_LINKS_LIBRARIES

int mw_editline_load(mw_error_t *error) {
	(void)error;
#define TAKE(name) mw_editline.name = &name;
	MW_EDITLINE_NAMES(TAKE)
#undef TAKE
	return 0;
}

int mw_ncurses_load(mw_error_t *error) {
	(void)error;
#define TAKE(name) mw_ncurses.name = name;
	MW_NCURSES_FUNCTIONS(TAKE)
#undef TAKE
	return 0;
}

#else

int mw_editline_load(mw_error_t *error) {
	static const mw_library_function_t functions[] = {
#define FUNCTION(name) {#name, offsetof(mw_editline_t, name)},
		MW_EDITLINE_NAMES(FUNCTION)
#undef FUNCTION
	};
	static const mw_library_t library = {
		.file = "libedit.so.2",
		.other_file = "libedit.so.0",
		.package = "libedit2",
		.functions = functions,
		.function_count = sizeof(functions) / sizeof(functions[0]),
	};
	if (mw_editline.readline != NULL)
		return 0;
	return mw_library_load(&library, &mw_editline, "cannot edit lines", error);
}

int mw_ncurses_load(mw_error_t *error) {
	static const mw_library_function_t functions[] = {
#define FUNCTION(name) {#name, offsetof(mw_ncurses_t, name)},
		MW_NCURSES_FUNCTIONS(FUNCTION)
#undef FUNCTION
	};
	static const mw_library_t library = {
		.file = "libncursesw.so.6",
		.package = "libncursesw6",
		.functions = functions,
		.function_count = sizeof(functions) / sizeof(functions[0]),
	};
	if (mw_ncurses.initscr != NULL)
		return 0;
	return mw_library_load(&library, &mw_ncurses, "cannot draw a live view", error);
}

#endif
