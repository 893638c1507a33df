/* SPDX-License-Identifier: MIT
 * confine.h -- runs work on files that may be hostile in a separate process with limited memory.
 * Layer: symbol/workers. */
#ifndef MW_TOOL_SYMBOL_WORKERS_CONFINE_H
#define MW_TOOL_SYMBOL_WORKERS_CONFINE_H

#include <stdio.h>

#include "model/error.h"

/* Type of the work: writes to `out` and returns 0, or -1 with `error` filled in. */
typedef int mw_confined_work_t(const void *context, FILE *out, mw_error_t *error);

/* Runs `work` in a forked process whose output goes to `out`.  Any crash of that process becomes
 * an error that begins with `what`. */
int mw_confine(mw_confined_work_t *work, const void *context, const char *what, FILE *out,
	       mw_error_t *error);

/* Limit of private memory: ten times the size of the largest known debug information.  Mapped
 * files do not count; unpacked sections do. */
#define MW_CONFINED_BYTES ((size_t)4 << 30)
/* Limits the current (forked) process to its present memory plus `more_bytes`. */
void mw_confine_memory(size_t more_bytes);
/* Returns the resident bytes of the current process, pages of files included. */
size_t mw_resident_bytes(void);

#endif
