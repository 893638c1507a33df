/* SPDX-License-Identifier: MIT
 * debug_file.h -- finds the file with a module's debug information where libdwfl looks for it.
 * Layer: symbol/files.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_FILES_DEBUG_FILE_H
#define MW_TOOL_SYMBOL_FILES_DEBUG_FILE_H

#include <elfutils/libdwfl.h>

/* Dwfl_Callbacks.find_debuginfo: as dwfl_standard_find_debuginfo(), but it asks servers only if
 * the user allows that.  The standard function loads libdebuginfod for each file without debug
 * information, even if no server is configured: thirty libraries, 7 MiB and some milliseconds.
 * *user_data is the sysroot, a text, or NULL. */
int mw_debug_file_find(Dwfl_Module *module, void **user_data, const char *name, Dwarf_Addr base,
		       const char *file, const char *link, GElf_Word crc, char **found);

#endif
