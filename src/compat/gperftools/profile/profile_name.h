/* SPDX-License-Identifier: MIT
 * profile_name.h -- names of the heap profiler's files.
 * Layer: compat/gperftools. */
#ifndef MW_COMPAT_GPERFTOOLS_PROFILE_PROFILE_NAME_H
#define MW_COMPAT_GPERFTOOLS_PROFILE_PROFILE_NAME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Writes HEAPPROFILE's prefix, with the process or its rank appended where the environment asks for
 * that, and marks the environment so that later programs of this process tree append theirs.
 * Returns false if HEAPPROFILE is not set. */
bool mw_gp_prefix_from_environment(char prefix[PATH_MAX]);
/* Appends "_<pid>" of the calling process, which fork(2) made. */
void mw_gp_prefix_of_child(char prefix[PATH_MAX]);
/* Writes the name of file `number`. Returns false if it is too long. */
bool mw_gp_profile_name(char path[PATH_MAX], const char *prefix, unsigned number);
/* Removes files <prefix>.*.heap. */
void mw_gp_remove_profiles(const char *prefix);

#endif
