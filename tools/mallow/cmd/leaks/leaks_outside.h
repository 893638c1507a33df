/* SPDX-License-Identifier: MIT
 * leaks_outside.h -- `mallow leaks --outside TIME`: blocks that were not freed for that long, by
 * probes of the kernel.
 * Layer: cmd/leaks. */
#ifndef MW_TOOL_CMD_LEAKS_LEAKS_OUTSIDE_H
#define MW_TOOL_CMD_LEAKS_LEAKS_OUTSIDE_H

#include "cli/options.h"

/* Returns the exit status: 1 if there are such blocks. */
int mw_leaks_outside(const mw_arguments_t *arguments);

#endif
