/* SPDX-License-Identifier: MIT
 * paths.h -- one name for each source file.
 * Layer: tools/view.  Private to this folder. */
#ifndef MW_TOOL_VIEW_PATHS_H
#define MW_TOOL_VIEW_PATHS_H

#include "model/profile.h"

/* "./a//b/../c" is "a/c", however each compiler wrote it. */
void mw_clean_paths(mw_profile_t *profile);

/* Cuts the first of the directories in `trim` (between colons) that a name begins with.  `trim`
 * NULL: what is before and in the last part of a directory of `sources`: with /src/redis
 * "/build/redis/src/zmalloc.c" is "src/zmalloc.c". */
void mw_trim_paths(mw_profile_t *profile, const char *trim, const char *sources);

#endif
