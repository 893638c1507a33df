/* SPDX-License-Identifier: MIT
 * advise_command.h -- `mallow advise`.
 * Layer: cmd/advise.  The folder's door. advise.c loads a target, process_facts.h adds what only a
 * live process tells, realloc_calls.h finds calls of realloc, advise_print.h prints findings. */
#ifndef MW_TOOL_CMD_ADVISE_ADVISE_COMMAND_H
#define MW_TOOL_CMD_ADVISE_ADVISE_COMMAND_H

#include "cli/options.h"

int mw_cmd_advise(const mw_arguments_t *arguments);

#endif
