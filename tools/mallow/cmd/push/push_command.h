/* SPDX-License-Identifier: MIT
 * push_command.h -- `mallow push`: sends profiles to a store or a receiver of others.
 * Layer: cmd/push.  The folder's door. push_options.h reads the command line, push_target.h pushes
 * one process or file. */
#ifndef MW_TOOL_CMD_PUSH_PUSH_COMMAND_H
#define MW_TOOL_CMD_PUSH_PUSH_COMMAND_H

#include "cli/options.h"

/* Returns the exit status. */
int mw_cmd_push(const mw_arguments_t *arguments);

#endif
