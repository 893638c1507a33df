/* SPDX-License-Identifier: MIT
 * library.h -- finds libmallow.so, and asks it for its version and messages.
 * Layer: live. */
#ifndef MW_TOOL_LIVE_LIBRARY_H
#define MW_TOOL_LIVE_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

#include "model/error.h"

/* Fills in the library's absolute path: $MALLOW_LIB, or a path beside the command. */
int mw_library_find(char path[PATH_MAX], mw_error_t *error);

/* Sets an environment variable to `first`, the separator and `second`; without the separator if
 * one of them is empty. */
void mw_environment_join(const char *name, const char *first, char separator, const char *second);

typedef struct mw_library_probe {
	bool started;     /* a process ran with the library and left a state file */
	char version[32]; /* version of the library */
	/* Options that the library accepted and that have no effect, separated by commas. */
	char unused[512];
	char *said; /* the library's messages on standard error; the caller frees the text */
} mw_library_probe_t;

/* Runs this command's --version with the library and these options (NULL = not set). */
int mw_library_probe(const char *library, const char *malloc_conf, const char *mallow_conf,
		     mw_library_probe_t *out, mw_error_t *error);

#endif
