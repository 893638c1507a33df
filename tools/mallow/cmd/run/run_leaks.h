/* SPDX-License-Identifier: MIT
 * run_leaks.h -- what the processes of a run leaked: `mallow run --leaks`.
 * Layer: cmd/run. */
#ifndef MW_TOOL_CMD_RUN_RUN_LEAKS_H
#define MW_TOOL_CMD_RUN_RUN_LEAKS_H

#include <stdbool.h>

#include "check/suppress.h"
#include "cmd/run/collect_children.h"

/* Prints on standard error what each ended process leaked that checked itself at its exit, writes
 * the profiles of leaks that the user asked for, and removes the state files.  Returns whether
 * something leaked that is not suppressed. */
bool mw_run_leaks_show(const mw_children_t *children, mw_suppressions_t *suppressions);

#endif
