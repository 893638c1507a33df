/* SPDX-License-Identifier: MIT
 * jit_find.h -- opens the files in which a process lists the code that it generates.
 * Layer: symbol.  Any user may write a file with such a name, so a file is believed only if it
 * belongs to the process's user, to the user who asks or to root, and is a regular file with one
 * name. */
#ifndef MW_TOOL_SYMBOL_JIT_FIND_H
#define MW_TOOL_SYMBOL_JIT_FIND_H

#include <stdio.h>

#include "model/profile.h"

/* Returns the pid that the process has, or had, in its own namespace, by which its files are named.
 * 0: it is not known. */
uint32_t mw_jit_own_pid(const mw_profile_t *profile, uint32_t pid);
/* Opens /tmp/perf-PID.map as the process sees it, with the pid that it has there, or else that of
 * this process's /tmp. `pid`: a live process; 0 = it has ended. NULL: there is none. */
FILE *mw_jit_find_map(const mw_profile_t *profile, uint32_t pid);
/* Opens jit-PID.dump: that which a live process maps, as compilers do for perf; of one that has
 * ended, in /tmp or in the current directory. */
FILE *mw_jit_find_dump(const mw_profile_t *profile, uint32_t pid);

#endif
