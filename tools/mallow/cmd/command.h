/* SPDX-License-Identifier: MIT
 * command.h -- the command's entry point.
 * Layer: cmd.  The folder's door.  command.c finds the subcommand, subcommands.c holds the table
 * of all subcommands. The code of the subcommands is in the folders below: input, marks, process,
 * run, profile, cpu, report, doctor, compat. */
#ifndef MW_TOOL_CMD_COMMAND_H
#define MW_TOOL_CMD_COMMAND_H

#include "cli/options.h"

/* Parses the command line, runs the subcommand, and returns the exit status. */
int mw_command_main(int argc, char **argv);

/* All subcommands, and jeprof and pprof, for mw_commands_register(). */
extern const mw_command_table_t mw_command_table;

#endif
