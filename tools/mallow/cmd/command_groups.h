/* SPDX-License-Identifier: MIT
 * command_groups.h -- groups of subcommands by what they are for, and command lines by topic.
 * Layer: cmd.  Every subcommand of subcommands.c is in one group. */
#ifndef MW_TOOL_CMD_COMMAND_GROUPS_H
#define MW_TOOL_CMD_COMMAND_GROUPS_H

#include "cli/options.h"

enum { MW_COMMAND_GROUPS = 10 };

extern const mw_command_group_t mw_command_groups[MW_COMMAND_GROUPS];

/* The topics that `mallow help WORD` finds.  The last topic has no words. */
extern const mw_help_topic_t mw_help_topics[];

#endif
