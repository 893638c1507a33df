/* SPDX-License-Identifier: MIT
 * attach_outside.h -- `mallow attach --outside`: the heap of a process into which nothing is put.
 * Layer: cmd/outside, the door of this folder.  live_process.h finds the process,
 * outside_session.h samples it, outside_profile.h makes a profile of that; `mallow leaks --outside`
 * uses all three, and outside_options.h. */
#ifndef MW_TOOL_CMD_OUTSIDE_ATTACH_OUTSIDE_H
#define MW_TOOL_CMD_OUTSIDE_ATTACH_OUTSIDE_H

#include "cli/options.h"

/* `mallow attach`, with --outside or without, and `mallow detach`. */
int mw_cmd_attach(const mw_arguments_t *arguments);
int mw_cmd_detach(const mw_arguments_t *arguments);
/* Samples for the time of --for, writes a profile, and prints its table.  Returns the exit status.
 */
int mw_attach_outside(const mw_arguments_t *arguments);

#endif
