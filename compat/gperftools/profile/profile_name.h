/* SPDX-License-Identifier: MIT
 * profile_name.h -- names of the heap profiler's files.
 * Layer: compat/gperftools. */
#ifndef MW_COMPAT_GPERFTOOLS_PROFILE_PROFILE_NAME_H
#define MW_COMPAT_GPERFTOOLS_PROFILE_PROFILE_NAME_H

#include <limits.h>
#include <stdbool.h>

/* Writes the name of file `number`. Returns false if it is too long. */
bool mw_gp_profile_name(char path[PATH_MAX], const char *prefix, unsigned number);
/* Removes files <prefix>.*.heap. */
void mw_gp_remove_profiles(const char *prefix);

#endif
