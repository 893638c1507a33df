/* SPDX-License-Identifier: MIT
 * microhttpd.c -- loads libmicrohttpd and looks its functions up. */
#include "http/microhttpd.h"

#include <dlfcn.h>
#include <stddef.h>

mw_microhttpd_t mw_microhttpd;

int mw_microhttpd_load(mw_error_t *error) {
	static const struct {
		const char *name;
		size_t offset;
	} functions[] = {
#define FUNCTION(name) {"MHD_" #name, offsetof(mw_microhttpd_t, name)},
		MW_MICROHTTPD_FUNCTIONS(FUNCTION)
#undef FUNCTION
	};
	if (mw_microhttpd.start_daemon != NULL)
		return 0;
	void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return mw_error_set(error, "cannot serve pages: libmicrohttpd.so.12 is not "
					   "installed; install package libmicrohttpd12");
	mw_microhttpd_t found;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(library, functions[i].name);
		if (function == NULL)
			return mw_error_set(error,
					    "cannot serve pages: libmicrohttpd.so.12 lacks %s; "
					    "install package libmicrohttpd12 again",
					    functions[i].name);
		/* The way that POSIX describes to convert an object pointer to a function pointer.
		 */
		*(void **)((char *)&found + functions[i].offset) = function;
	}
	mw_microhttpd = found;
	return 0;
}
