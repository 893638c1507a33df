/* SPDX-License-Identifier: MIT
 * cache.h -- the folder where symbols are kept between runs, a file a build-id.
 * Layer: tools/symbol.  $XDG_CACHE_HOME/mallow/symbols, or ~/.cache/mallow/symbols.  Anything in it
 * may be deleted at any time; several commands may write at once, the last one's file stays. */
#ifndef MW_TOOL_SYMBOL_CACHE_H
#define MW_TOOL_SYMBOL_CACHE_H

#include <stdbool.h>

/* The folder, made where it is not there yet; NULL: there is no place for one.  The caller frees
 * it. */
char *mw_cache_directory(void);

/* The rest is private to symbol/. */

/* The file for a build-id; NULL without a directory, or if it is no build-id.  The caller frees
 * it. */
char *mw_cache_path(const char *directory, const char *build_id);
/* A regular file of this user's. */
bool mw_cache_may_read(const char *path);
/* Deletes the files of the folder that `path` is in that were written longest ago, until all
 * together have at most 256 MiB. */
void mw_cache_trim(const char *path);

#endif
