/* SPDX-License-Identifier: MIT
 * name_addresses.h -- `jeprof --symbols PROGRAM`: names addresses from standard input.
 * Layer: cmd/compat. */
#ifndef MW_TOOL_CMD_COMPAT_NAME_ADDRESSES_H
#define MW_TOOL_CMD_COMPAT_NAME_ADDRESSES_H

#include <stdbool.h>

/* Reads lines of /proc/<pid>/maps and addresses, one on each line.  Prints the name of each
 * address in their order, "??" = no name.  Without lines of maps, addresses are those of the
 * program's file.  `has_places`: instead of the name the module and, with tabs before each,
 * function and place (file:line, or module and offset) of the address and of each function that it
 * was inlined into.  Returns the exit status. */
int mw_name_addresses(const char *program, bool has_places);

#endif
