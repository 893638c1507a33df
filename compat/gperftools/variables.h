/* SPDX-License-Identifier: MIT
 * variables.h -- variables of the environment as values, and messages that PERFTOOLS_VERBOSE
 * lets through. Needs nothing of libmallow.
 * Layer: compat/gperftools. */
#ifndef MW_COMPAT_GPERFTOOLS_VARIABLES_H
#define MW_COMPAT_GPERFTOOLS_VARIABLES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* Prints a line on stderr if PERFTOOLS_VERBOSE lets messages of this level through: 0 for a
 * notice, -2 for an error. */
MW_COLD void mw_gp_log(int level, const char *format, ...) MW_PRINTF(2, 3);
/* Returns the value of an environment variable as a number or as yes or no, or `standard`. Prints a
 * line that names a malformed value. */
int64_t mw_gp_number_from(const char *variable, int64_t standard, int64_t min, int64_t max);
bool mw_gp_flag_from(const char *variable, bool standard);

/* true: the program runs with the rights of another user than the one who started it. */
bool mw_gp_is_secure(void);

/* Writes the path that the variable holds, with the process or its rank appended where the
 * environment asks for that (`variable` followed by _USE_PID), and marks the environment so that
 * later programs of this process tree append theirs. Returns false if the variable is not set. */
bool mw_gp_path_from(const char *variable, char path[PATH_MAX]);
/* Appends "_<pid>" of the calling process, which fork(2) made. Async-signal-safe. */
void mw_gp_path_of_child(char path[PATH_MAX]);

#endif
