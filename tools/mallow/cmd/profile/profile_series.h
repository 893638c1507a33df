/* SPDX-License-Identifier: MIT
 * profile_series.h -- `mallow diff` of more than two profiles.
 * Layer: cmd/profile. */
#ifndef MW_TOOL_CMD_PROFILE_PROFILE_SERIES_H
#define MW_TOOL_CMD_PROFILE_PROFILE_SERIES_H

#include "cli/options.h"
#include "model/error.h"

/* Prints how each function grew over the operands.  One profile is in memory at a time. */
int mw_profile_series_show(const mw_arguments_t *arguments, mw_error_t *error);

#endif
