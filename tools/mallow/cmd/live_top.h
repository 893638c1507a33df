/* SPDX-License-Identifier: MIT
 * live_top.h -- when `mallow top` is the live view of a process instead of a table.
 * Layer: cmd. */
#ifndef MW_CMD_LIVE_TOP_H
#define MW_CMD_LIVE_TOP_H

#include <stdbool.h>

#include "cmd/options.h"

/* On a terminal, for one live process, without options that shape a table. */
bool mw_live_top_is_wanted(const mw_arguments_t *arguments);
/* The same of all processes. */
int mw_cmd_live_top_all(const mw_arguments_t *arguments);
int mw_cmd_live_top(const mw_arguments_t *arguments);

#endif
