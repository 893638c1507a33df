/* SPDX-License-Identifier: MIT
 * load_library.c -- dlopen and dlsym behind one function. */
#include "libraries/load_library.h"

#include <dlfcn.h>

int mw_library_load(const mw_library_t *library, void *pointers, const char *purpose,
		    mw_error_t *error) {
	void *loaded = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
	if (loaded == NULL && library->other_file != NULL)
		loaded = dlopen(library->other_file, RTLD_NOW | RTLD_LOCAL);
	if (loaded == NULL)
		return mw_error_set(error, "%s: %s is not installed; install package %s", purpose,
				    library->file, library->package);
	for (size_t i = 0; i < library->function_count; i++)
		if (dlsym(loaded, library->functions[i].name) == NULL)
			return mw_error_set(error, "%s: %s lacks %s; install package %s again",
					    purpose, library->file, library->functions[i].name,
					    library->package);
	/* The way that POSIX describes to convert an object pointer to a function pointer. */
	for (size_t i = 0; i < library->function_count; i++)
		*(void **)((char *)pointers + library->functions[i].offset) =
			dlsym(loaded, library->functions[i].name);
	return 0;
}
