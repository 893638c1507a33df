/* SPDX-License-Identifier: MIT
 * sqlite.c -- loads SQLite 3. */
#include "libraries/sqlite.h"

#include "libraries/load_library.h"

mw_sqlite_t mw_sqlite;

int mw_sqlite_load(const char *purpose, mw_error_t *error) {
	static const mw_library_function_t functions[] = {
#define FUNCTION(name) {"sqlite3_" #name, offsetof(mw_sqlite_t, name)},
		MW_SQLITE_FUNCTIONS(FUNCTION)
#undef FUNCTION
	};
	static const mw_library_t library = {
		.file = "libsqlite3.so.0",
		.package = "libsqlite3-0",
		.functions = functions,
		.function_count = sizeof(functions) / sizeof(functions[0]),
	};
	if (mw_sqlite.open_v2 != NULL)
		return 0;
	return mw_library_load(&library, &mw_sqlite, purpose, error);
}
