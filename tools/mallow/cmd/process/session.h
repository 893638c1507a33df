/* SPDX-License-Identifier: MIT
 * session.h -- `mallow start --for`: profiles of the allocations of a time span.
 * Layer: cmd/process. */
#ifndef MW_TOOL_CMD_PROCESS_SESSION_H
#define MW_TOOL_CMD_PROCESS_SESSION_H

#include "cli/options.h"

/* Runs the session.  Returns the exit status. */
int mw_session(const mw_arguments_t *arguments);

#endif
