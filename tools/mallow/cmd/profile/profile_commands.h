/* SPDX-License-Identifier: MIT
 * profile_commands.h -- subcommands that read a profile.
 * Layer: cmd/profile.  The folder's door.  Read view.c first: it loads, selects and shows a
 * profile, and cmd/report uses it, too.  Each function returns the exit status. */
#ifndef MW_TOOL_CMD_PROFILE_PROFILE_COMMANDS_H
#define MW_TOOL_CMD_PROFILE_PROFILE_COMMANDS_H

#include "cli/options.h"

int mw_cmd_view(const mw_arguments_t *arguments); /* top, tree and all other views */
int mw_cmd_timeline(const mw_arguments_t *arguments);

#endif
