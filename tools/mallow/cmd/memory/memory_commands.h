/* SPDX-License-Identifier: MIT
 * memory_commands.h -- subcommands about what the memory of a process is used for.
 * Layer: cmd/memory.  The folder's door.  Each function returns the exit status. */
#ifndef MW_TOOL_CMD_MEMORY_MEMORY_COMMANDS_H
#define MW_TOOL_CMD_MEMORY_MEMORY_COMMANDS_H

#include "cli/options.h"

int mw_cmd_status(const mw_arguments_t *arguments);
int mw_cmd_map(const mw_arguments_t *arguments);

#endif
