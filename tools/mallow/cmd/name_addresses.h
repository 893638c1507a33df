/* SPDX-License-Identifier: MIT
 * name_addresses.h -- `jeprof --symbols PROGRAM`: names for addresses on standard input.
 * Layer: cmd. */
#ifndef MW_CMD_NAME_ADDRESSES_H
#define MW_CMD_NAME_ADDRESSES_H

/* Reads lines of /proc/<pid>/maps and addresses, one a line; prints a name for each of the latter,
 * in their order, "??" where there is none.  Without maps the addresses are those of the program's
 * file.  Returns the exit status. */
int mw_name_addresses(const char *program);

#endif
