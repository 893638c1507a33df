/* SPDX-License-Identifier: MIT
 * cache_folder.h -- the folder that keeps symbols between runs, with one file for each build-id
 * and path.
 * Layer: symbol/cache.  The folder is $XDG_CACHE_HOME/mallow/symbols, or
 * ~/.cache/mallow/symbols.  Users may delete any of its files at any time.  Several commands may
 * write at once; the last one's file stays. */
#ifndef MW_TOOL_SYMBOL_CACHE_CACHE_FOLDER_H
#define MW_TOOL_SYMBOL_CACHE_CACHE_FOLDER_H

#include <stdbool.h>

/* Returns the folder, which is made if it does not exist; NULL: there is no place for it.  The
 * caller frees the path. */
char *mw_cache_directory(void);

/* The functions below are private to symbol/. */

/* Returns the path of the cache file for a build whose file is at `path` in the profile.  NULL
 * without a directory or a build-id.  The caller frees the result. */
char *mw_cache_path(const char *directory, const char *build_id, const char *path);
/* True for a regular file of the current user. */
bool mw_cache_may_read(const char *path);
/* Deletes the oldest files of the folder that contains `path`, until the folder has at most 256
 * MiB. */
void mw_cache_trim(const char *path);

#endif
