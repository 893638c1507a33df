/* SPDX-License-Identifier: MIT
 * run_command.h -- the subcommand `mallow run`.
 * Layer: cmd/run.  The folder's door. run.c starts the program, collect_children.h writes the
 * profiles of its processes, run_summary.h prints their summaries.  The function returns the
 * exit status. */
#ifndef MW_TOOL_CMD_RUN_RUN_COMMAND_H
#define MW_TOOL_CMD_RUN_RUN_COMMAND_H

#include "cli/options.h"

int mw_cmd_run(const mw_arguments_t *arguments);

#endif
