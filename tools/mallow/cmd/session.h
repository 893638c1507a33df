/* SPDX-License-Identifier: MIT
 * session.h -- `mallow start --for`: profiles of what is allocated between two times.
 * Layer: cmd. */
#ifndef MW_CMD_SESSION_H
#define MW_CMD_SESSION_H

#include "cmd/options.h"

/* Returns the exit status. */
int mw_session(const mw_arguments_t *arguments);

#endif
