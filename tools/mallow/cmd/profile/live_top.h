/* SPDX-License-Identifier: MIT
 * live_top.h -- `mallow top` as the live view of a process instead of a table.
 * Layer: cmd/profile. */
#ifndef MW_TOOL_CMD_PROFILE_LIVE_TOP_H
#define MW_TOOL_CMD_PROFILE_LIVE_TOP_H

#include <stdbool.h>

#include "cli/options.h"

/* True on a terminal, for one live process, without options that change the table. */
bool mw_live_top_is_wanted(const mw_arguments_t *arguments);
/* Shows the live view of all processes. */
int mw_cmd_live_top_all(const mw_arguments_t *arguments);
int mw_cmd_live_top(const mw_arguments_t *arguments);

#endif
