/* SPDX-License-Identifier: MIT
 * load_library.h -- loads a library when the command first needs it, and looks its functions up.
 * Layer: libraries.  The folder's door.  Each other header here has the functions of one library as
 * a struct of function pointers, all NULL until its load function has returned 0.  Subcommands that
 * do not need a library start without it, and run where it is not installed. */
#ifndef MW_TOOL_LIBRARIES_LOAD_LIBRARY_H
#define MW_TOOL_LIBRARIES_LOAD_LIBRARY_H

#include <stddef.h>

#include "model/error.h"

/* A function: its name in the library, and where its pointer is in the struct. */
typedef struct mw_library_function {
	const char *name;
	size_t offset;
} mw_library_function_t;

typedef struct mw_library {
	const char *file;       /* "libcurl.so.4", found as the dynamic linker finds libraries */
	const char *other_file; /* another name of the same interface; NULL = there is none */
	const char *package;    /* Debian's package that has `file` */
	const mw_library_function_t *functions;
	size_t function_count;
} mw_library_t;

/* Writes the address of each function into the struct at `pointers`.  0, or -1 with an error that
 * begins with `purpose` ("cannot serve pages") and says what to install; then the struct is
 * unchanged.  A library that was loaded stays loaded. */
int mw_library_load(const mw_library_t *library, void *pointers, const char *purpose,
		    mw_error_t *error);

#endif
