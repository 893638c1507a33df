/* SPDX-License-Identifier: MIT
 * name_addresses.h -- `jeprof --symbols PROGRAM`: names addresses from standard input.
 * Layer: cmd/compat. */
#ifndef MW_TOOL_CMD_COMPAT_NAME_ADDRESSES_H
#define MW_TOOL_CMD_COMPAT_NAME_ADDRESSES_H

/* Reads lines of /proc/<pid>/maps and addresses, one on each line.  Prints the name of each
 * address in their order, "??" = no name.  Without lines of maps, addresses are those of the
 * program's file.  Returns the exit status. */
int mw_name_addresses(const char *program);

#endif
