/* SPDX-License-Identifier: MIT
 * leaks_command.h -- `mallow leaks`: blocks that no pointer leads to.
 * Layer: cmd/leaks.  The folder's door.  leaks.c is the subcommand, leaks_text.h and leaks_json.c
 * print the result; leaks_growth.h, leaks_holders.h and leaks_attached.h are of --growth,
 * leaks_outside.h is of --outside. */
#ifndef MW_TOOL_CMD_LEAKS_LEAKS_COMMAND_H
#define MW_TOOL_CMD_LEAKS_LEAKS_COMMAND_H

#include "cli/options.h"

int mw_cmd_leaks(const mw_arguments_t *arguments); /* returns the exit status */

#endif
