/* SPDX-License-Identifier: MIT
 * profile_commands.h -- subcommands that read a profile.
 * Layer: cmd/profile.  The folder's door.  Read view.c first: it loads, selects and shows a
 * profile, and cmd/report uses it, too. views.def and view_options.h declare views and options;
 * profile_series.c shows several profiles.  Each function returns the exit status. */
#ifndef MW_TOOL_CMD_PROFILE_PROFILE_COMMANDS_H
#define MW_TOOL_CMD_PROFILE_PROFILE_COMMANDS_H

#include <stdbool.h>

#include "cli/options.h"

int mw_cmd_view(const mw_arguments_t *arguments); /* top, tree and all other views */
int mw_cmd_timeline(const mw_arguments_t *arguments);

/* `mallow top` as a live view instead of a table.  True on a terminal, for one live process,
 * without options that change the table. */
bool mw_live_top_is_wanted(const mw_arguments_t *arguments);
int mw_cmd_live_top(const mw_arguments_t *arguments);
/* The live view of all processes. */
int mw_cmd_live_top_all(const mw_arguments_t *arguments);

#endif
