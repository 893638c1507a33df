/* SPDX-License-Identifier: MIT
 * command.h -- the command's front door, its exit statuses and its one way to complain.
 * Layer: cmd. */
#ifndef MW_CMD_COMMAND_H
#define MW_CMD_COMMAND_H

#include "base/compiler.h"

/* `mallow run` ends with the status of the program it ran instead. */
enum {
	MW_EXIT_FINE = 0,
	MW_EXIT_FINDING = 1,
	MW_EXIT_TROUBLE = 2,
	MW_EXIT_NOT_EXECUTABLE = 126, /* as env(1): found, but could not be executed */
	MW_EXIT_NOT_FOUND = 127,      /* as env(1) */
};

/* Parses the command line, runs the subcommand, returns the exit status. */
int mw_command_main(int argc, char **argv);

/* "mallow: <message>\n" on stderr.  Messages are lower case: what, why, what to do. */
void mw_complain(const char *format, ...) MW_PRINTF(1, 2);

#endif
