/* SPDX-License-Identifier: MIT
 * web_command.h -- `mallow web`: the page that shows processes and profiles in a browser.
 * Layer: cmd/web.  The folder's door. */
#ifndef MW_TOOL_CMD_WEB_WEB_COMMAND_H
#define MW_TOOL_CMD_WEB_WEB_COMMAND_H

#include "cli/options.h"

/* Returns the exit status. */
int mw_cmd_web(const mw_arguments_t *arguments);

#endif
