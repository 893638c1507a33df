/* SPDX-License-Identifier: MIT
 * process_commands.h -- subcommands about processes: which run, their settings, their dumps.
 * Layer: cmd/process.  The folder's door.  A file has the name of its subcommand;
 * start_stop.c holds start, stop and reset.  Each function returns the exit status. */
#ifndef MW_TOOL_CMD_PROCESS_PROCESS_COMMANDS_H
#define MW_TOOL_CMD_PROCESS_PROCESS_COMMANDS_H

#include "cli/options.h"

int mw_cmd_ls(const mw_arguments_t *arguments);
int mw_cmd_start(const mw_arguments_t *arguments);
int mw_cmd_stop(const mw_arguments_t *arguments);
int mw_cmd_set(const mw_arguments_t *arguments);
int mw_cmd_reset(const mw_arguments_t *arguments);
int mw_cmd_trim(const mw_arguments_t *arguments);
int mw_cmd_mark(const mw_arguments_t *arguments);
int mw_cmd_dump(const mw_arguments_t *arguments);
int mw_cmd_serve(const mw_arguments_t *arguments);
int mw_cmd_clean(const mw_arguments_t *arguments);

#endif
