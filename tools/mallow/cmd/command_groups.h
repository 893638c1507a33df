/* SPDX-License-Identifier: MIT
 * command_groups.h -- groups of subcommands by what they are for.
 * Layer: cmd.  Every subcommand of subcommands.c is in one group. */
#ifndef MW_TOOL_CMD_COMMAND_GROUPS_H
#define MW_TOOL_CMD_COMMAND_GROUPS_H

#include "cli/options.h"

enum { MW_COMMAND_GROUPS = 9 };

extern const mw_command_group_t mw_command_groups[MW_COMMAND_GROUPS];

#endif
