/* SPDX-License-Identifier: MIT
 * rebuild.h -- makes the index anew from the files, and finishes puts that were interrupted.
 * Layer: store/directory.  Private to the folder. */
#ifndef MW_TOOL_STORE_DIRECTORY_REBUILD_H
#define MW_TOOL_STORE_DIRECTORY_REBUILD_H

#include <stdbool.h>

#include "model/error.h"
#include "store/directory/index/database.h"

/* Makes a new index, which replaces the one at `path` when it is complete.  Files that are no
 * profiles of a store are left out.  Returns 0; *left_out is their number. */
int mw_index_rebuild(const char *root, const char *path, size_t *left_out, mw_error_t *error);

/* Moves files of incoming/ that the index has, and removes old ones that it has not, and those that
 * commands had only begun to write. */
void mw_index_finish_puts(const char *root, mw_database_t *database);

#endif
