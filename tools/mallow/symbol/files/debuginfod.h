/* SPDX-License-Identifier: MIT
 * debuginfod.h -- fetches files by build-id from the servers in $DEBUGINFOD_URLS.
 * Layer: symbol/files.  Private to this folder. libdw itself asks the servers for debug
 * information; this fetches the file itself. libdebuginfod keeps fetched files in a cache of its
 * own.  No server is asked unless the user allows it, because a request tells the server which
 * programs the user runs. */
#ifndef MW_TOOL_SYMBOL_FILES_DEBUGINFOD_H
#define MW_TOOL_SYMBOL_FILES_DEBUGINFOD_H

#include <stdbool.h>

/* Says whether libdw and mw_debuginfod_open() may ask servers for the rest of this process. */
void mw_debuginfod_allow(bool allowed);
bool mw_debuginfod_is_allowed(void);
/* Returns a descriptor of the executable or, if no server has it, of its debug information; -1 =
 * no server has either. */
int mw_debuginfod_open(const char *build_id);

#endif
