/* SPDX-License-Identifier: MIT
 * push_target.h -- pushes one process, state file or profile.
 * Layer: cmd/push. */
#ifndef MW_TOOL_CMD_PUSH_PUSH_TARGET_H
#define MW_TOOL_CMD_PUSH_PUSH_TARGET_H

#include "live/target.h"
#include "model/error.h"

/* A mw_target_work_t (cmd/input/load.h); `context` is a mw_push_options_t. */
int mw_push_target(const mw_target_t *target, const void *context, mw_error_t *error);

#endif
