/* SPDX-License-Identifier: MIT
 * report_commands.h -- the subcommands `mallow report` and `mallow check`.
 * Layer: cmd/report.  The folder's door. report_json.h writes the JSON of both, check_print.h
 * prints the results of check.  Each function returns the exit status. */
#ifndef MW_TOOL_CMD_REPORT_REPORT_COMMANDS_H
#define MW_TOOL_CMD_REPORT_REPORT_COMMANDS_H

#include "cli/options.h"

int mw_cmd_report(const mw_arguments_t *arguments);
int mw_cmd_check(const mw_arguments_t *arguments);

#endif
