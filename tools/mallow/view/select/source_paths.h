/* SPDX-License-Identifier: MIT
 * source_paths.h -- one name for each source file.
 * Layer: view/select.  Private to this folder. */
#ifndef MW_TOOL_VIEW_SELECT_SOURCE_PATHS_H
#define MW_TOOL_VIEW_SELECT_SOURCE_PATHS_H

#include "model/profile.h"

/* Simplifies all paths: "./a//b/../c" becomes "a/c". */
void mw_clean_paths(mw_profile_t *profile);

/* Removes from each name the first directory in `trim` (separated by ':') that the name begins
 * with.  `trim` NULL: removes the part before the last component of a directory in `sources`, and
 * that component; with /src/redis, "/build/redis/src/zmalloc.c" becomes "src/zmalloc.c". */
void mw_trim_paths(mw_profile_t *profile, const char *trim, const char *sources);

#endif
