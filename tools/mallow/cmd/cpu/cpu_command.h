/* SPDX-License-Identifier: MIT
 * cpu_command.h -- `mallow cpu`: what a live process does for some time.
 * Layer: cmd/cpu.  The folder's door.  cpu_time.c takes the samples and shows them by the views of
 * cmd/profile, lock_waits.h finds the locks that threads wait for. */
#ifndef MW_TOOL_CMD_CPU_CPU_COMMAND_H
#define MW_TOOL_CMD_CPU_CPU_COMMAND_H

#include "cli/options.h"

/* Returns the exit status. */
int mw_cmd_cpu(const mw_arguments_t *arguments);

#endif
