/* SPDX-License-Identifier: MIT
 * debug_file.h -- the file with a module's debug information, where libdwfl looks for it.
 * Layer: tools/symbol.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_DEBUG_FILE_H
#define MW_TOOL_SYMBOL_DEBUG_FILE_H

#include <elfutils/libdwfl.h>

/* Dwfl_Callbacks.find_debuginfo: dwfl_standard_find_debuginfo(), but without servers unless the
 * user allows them.  That one loads libdebuginfod for each file it finds nothing for, whether there
 * are servers to ask or not: thirty libraries, 7 MiB and some milliseconds.  *user_data is the root
 * of another system, a text, or NULL. */
int mw_debug_file_find(Dwfl_Module *module, void **user_data, const char *name, Dwarf_Addr base,
		       const char *file, const char *link, GElf_Word crc, char **found);

#endif
