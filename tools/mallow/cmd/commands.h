/* SPDX-License-Identifier: MIT
 * commands.h -- the subcommands, one file each; subcommands.c has the table that calls them.
 * Layer: cmd.  Each returns the exit status of the command. */
#ifndef MW_CMD_COMMANDS_H
#define MW_CMD_COMMANDS_H

#include "cmd/options.h"

int mw_cmd_run(const mw_arguments_t *arguments);
int mw_cmd_ls(const mw_arguments_t *arguments);
int mw_cmd_status(const mw_arguments_t *arguments);
int mw_cmd_start(const mw_arguments_t *arguments);
int mw_cmd_stop(const mw_arguments_t *arguments);
int mw_cmd_set(const mw_arguments_t *arguments);
int mw_cmd_reset(const mw_arguments_t *arguments);
int mw_cmd_dump(const mw_arguments_t *arguments);
int mw_cmd_clean(const mw_arguments_t *arguments);
int mw_cmd_report(const mw_arguments_t *arguments);
int mw_cmd_view(const mw_arguments_t *arguments); /* top, tree and the other views */
int mw_cmd_timeline(const mw_arguments_t *arguments);
int mw_cmd_check(const mw_arguments_t *arguments);
int mw_cmd_doctor(const mw_arguments_t *arguments);
int mw_cmd_shell(const mw_arguments_t *arguments);
int mw_cmd_help(const mw_arguments_t *arguments);

#endif
