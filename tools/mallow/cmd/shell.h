/* SPDX-License-Identifier: MIT
 * shell.h -- commands about one profile, one after the other.
 * Layer: cmd.  With a terminal: a prompt, history, completion.  Without one the commands are read
 * from standard input, and nothing is printed but what they say. */
#ifndef MW_CMD_SHELL_H
#define MW_CMD_SHELL_H

#include "cmd/options.h"

/* `arguments` are of the view `top`: targets, and options that hold for all commands. */
int mw_shell(const mw_arguments_t *arguments);

#endif
