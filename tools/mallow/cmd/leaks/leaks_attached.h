/* SPDX-License-Identifier: MIT
 * leaks_attached.h -- prints what `mallow leaks --growth` says of a process that mallow is attached
 * to: stacks of blocks that were allocated in the last seconds and are in use.  Who holds them is
 * not known: mallow, which is not the process's allocator, cannot search its memory.
 * Layer: cmd/leaks. */
#ifndef MW_TOOL_CMD_LEAKS_LEAKS_ATTACHED_H
#define MW_TOOL_CMD_LEAKS_LEAKS_ATTACHED_H

#include "cmd/leaks/leaks_growth.h"
#include "model/error.h"

/* The report's profile has the memory in use of such blocks alone; `missing` is not used. */
int mw_attached_growth_print_text(const mw_growth_report_t *report, mw_error_t *error);
/* Prints JSON on stdout.  Returns the exit status, or -1. */
int mw_attached_growth_print_json(const mw_growth_report_t *report, mw_error_t *error);

#endif
