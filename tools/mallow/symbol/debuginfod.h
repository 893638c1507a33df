/* SPDX-License-Identifier: MIT
 * debuginfod.h -- files by build-id from the servers in $DEBUGINFOD_URLS.
 * Layer: tools/symbol.  Private to this folder.  libdw asks them for the debug information of a
 * file by itself; this asks for the file.  libdebuginfod keeps what it fetched in a cache of its
 * own. Nothing is asked unless the user wants it: programs and their builds are nobody's business.
 */
#ifndef MW_TOOL_SYMBOL_DEBUGINFOD_H
#define MW_TOOL_SYMBOL_DEBUGINFOD_H

#include <stdbool.h>

/* Whether libdw and mw_debuginfod_open() may ask, for the rest of this process. */
void mw_debuginfod_allow(bool allowed);
bool mw_debuginfod_is_allowed(void);
/* A descriptor of the executable or, failing that, its debug information; -1: nobody has it. */
int mw_debuginfod_open(const char *build_id);

#endif
