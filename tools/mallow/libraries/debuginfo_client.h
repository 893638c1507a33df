/* SPDX-License-Identifier: MIT
 * debuginfo_client.h -- functions of libdebuginfod, which fetches files by build-id
 * (symbol/files/debuginfod.h).  Layer: libraries. */
#ifndef MW_TOOL_LIBRARIES_DEBUGINFO_CLIENT_H
#define MW_TOOL_LIBRARIES_DEBUGINFO_CLIENT_H

#include <elfutils/debuginfod.h>

#include "model/error.h"

/* F(name): each function that is called, without its debuginfod_. */
#define MW_DEBUGINFOD_FUNCTIONS(F)                                                                 \
	F(begin)                                                                                   \
	F(end)                                                                                     \
	F(find_debuginfo)                                                                          \
	F(find_executable)

typedef struct mw_debuginfod {
#define MW_DEBUGINFOD_FIELD(name) __typeof__(debuginfod_##name) *name;
	MW_DEBUGINFOD_FUNCTIONS(MW_DEBUGINFOD_FIELD)
#undef MW_DEBUGINFOD_FIELD
} mw_debuginfod_t;

/* All NULL until mw_debuginfod_load() has returned 0. */
extern mw_debuginfod_t mw_debuginfod;

/* Loads the library, once for the process.  0, or -1 with an error that says what to install. */
int mw_debuginfod_load(mw_error_t *error);

#endif
