/* SPDX-License-Identifier: MIT
 * store_commands.h -- subcommands that ask a store.
 * Layer: cmd/store.  Each function returns the exit status. */
#ifndef MW_TOOL_CMD_STORE_STORE_COMMANDS_H
#define MW_TOOL_CMD_STORE_STORE_COMMANDS_H

#include "cli/options.h"

int mw_cmd_services(const mw_arguments_t *arguments);
int mw_cmd_symbols(const mw_arguments_t *arguments);
int mw_cmd_search(const mw_arguments_t *arguments);
int mw_cmd_store(const mw_arguments_t *arguments);

#endif
