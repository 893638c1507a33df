/* SPDX-License-Identifier: MIT
 * library.h -- where libmallow.so is, and what it says when a process starts with it.
 * Layer: live. */
#ifndef MW_LIVE_LIBRARY_H
#define MW_LIVE_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

#include "model/error.h"

/* The library's absolute path: $MALLOW_LIB, or beside the command. */
int mw_library_find(char path[PATH_MAX], mw_error_t *error);

/* Puts `first` before `second` with the separator between them, unless one of them is empty, into
 * the environment. */
void mw_environment_join(const char *name, const char *first, char separator, const char *second);

typedef struct mw_library_probe {
	bool started;     /* a process ran with the library and left a state file */
	char version[32]; /* of the library */
	char unused[512]; /* options that it took and that have no effect, with commas */
	char *said;       /* on standard error; the caller frees it */
} mw_library_probe_t;

/* Runs this command with the library and these options (NULL: not set), for its --version. */
int mw_library_probe(const char *library, const char *malloc_conf, const char *mallow_conf,
		     mw_library_probe_t *out, mw_error_t *error);

#endif
