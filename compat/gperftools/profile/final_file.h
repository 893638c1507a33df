/* SPDX-License-Identifier: MIT
 * final_file.h -- the last file also when the process ends by _exit(2) or by SIGTERM.
 * Layer: compat/gperftools/profile. */
#ifndef MW_COMPAT_GPERFTOOLS_PROFILE_FINAL_FILE_H
#define MW_COMPAT_GPERFTOOLS_PROFILE_FINAL_FILE_H

#include <stdbool.h>

/* Reads HEAP_PROFILE_FINAL. Returns whether the profiler's thread must exist. */
bool mw_gp_final_start(void);
/* Called by the profiler's thread when it wakes up: if a signal came that ends the process, writes
 * the file and ends the process by that signal. */
void mw_gp_final_serve(void);
/* Called in the child of a fork. */
void mw_gp_final_forked(void);

#endif
