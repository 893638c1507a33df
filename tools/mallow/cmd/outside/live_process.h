/* SPDX-License-Identifier: MIT
 * live_process.h -- the process that an operand names, whether or not it runs mallow.
 * Layer: cmd/outside. */
#ifndef MW_TOOL_CMD_OUTSIDE_LIVE_PROCESS_H
#define MW_TOOL_CMD_OUTSIDE_LIVE_PROCESS_H

#include "live/process/process.h"
#include "model/error.h"

/* Finds the live process with this pid or, as pidof(8), with the name of a program's file or its
 * name in the kernel.  Returns 0, or -1 with `error`: no process has it, it has ended, or several
 * have the name, whose pids the error lists. */
int mw_live_process_find(const char *word, mw_process_t *out, mw_error_t *error);

#endif
