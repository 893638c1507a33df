/* SPDX-License-Identifier: MIT
 * shell.h -- runs several commands on one profile.
 * Layer: cmd/compat.  On a terminal there is a prompt, a history and completion.  Otherwise
 * commands are read from standard input, and only their output is printed. */
#ifndef MW_TOOL_CMD_COMPAT_SHELL_H
#define MW_TOOL_CMD_COMPAT_SHELL_H

#include "cli/options.h"

/* Runs the shell.  `arguments` are of the view `top`: targets, and options that apply to all
 * commands. */
int mw_shell(const mw_arguments_t *arguments);

/* Runs the subcommand.  Returns the exit status. */
int mw_cmd_shell(const mw_arguments_t *arguments);

#endif
