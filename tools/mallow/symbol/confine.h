/* SPDX-License-Identifier: MIT
 * confine.h -- work on files nobody vouches for, in a process of limited memory.
 * Layer: tools/symbol. */
#ifndef MW_TOOL_SYMBOL_CONFINE_H
#define MW_TOOL_SYMBOL_CONFINE_H

#include <stdio.h>

#include "model/error.h"

/* Writes to `out`; 0, or -1 with `error` filled in. */
typedef int mw_confined_work_t(const void *context, FILE *out, mw_error_t *error);

/* Does `work` in a forked process whose output goes to `out`.  Whatever the files do to that one
 * ends as an error, which begins with `what`. */
int mw_confine(mw_confined_work_t *work, const void *context, const char *what, FILE *out,
	       mw_error_t *error);

/* Of memory of its own.  Ten times what the largest programs' debug information takes; files that
 * are mapped do not count, unpacked sections do. */
#define MW_CONFINED_BYTES ((size_t)4 << 30)
/* The forked process itself: as much memory as it has now, and `more_bytes`. */
void mw_confine_memory(size_t more_bytes);
/* What the process has in memory, pages of files included. */
size_t mw_resident_bytes(void);

#endif
