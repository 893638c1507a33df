/* SPDX-License-Identifier: MIT
 * cpu_outside.h -- `mallow cpu` of a process whose CPU time the kernel samples: one that does not
 * run mallow, that mallow was attached to, or that --outside was given for.
 * Layer: cmd/cpu. */
#ifndef MW_TOOL_CMD_CPU_CPU_OUTSIDE_H
#define MW_TOOL_CMD_CPU_CPU_OUTSIDE_H

#include <stdbool.h>

#include "cli/options.h"
#include "model/error.h"

/* Returns whether the word names a live process that does not run mallow. */
bool mw_cpu_is_without_mallow(const char *word);

/* Samples the process, a pid or a name, and shows its CPU time.  Returns the exit status, or -1
 * with `error` filled in, also if an option was given that takes mallow in the process. */
int mw_cpu_outside(const mw_arguments_t *arguments, const char *process, unsigned hz,
		   double seconds, mw_error_t *error);

#endif
