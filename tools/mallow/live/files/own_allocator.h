/* SPDX-License-Identifier: MIT
 * own_allocator.h -- tells which allocator an executable brings, beside the malloc that it calls,
 * and whether a file is mallow.
 * Layer: live/files. What such an allocator allocates is in no profile of a preloaded library.
 * The file is read with bounds; nothing in it is trusted, and its file system need not answer. */
#ifndef MW_TOOL_LIVE_FILES_OWN_ALLOCATOR_H
#define MW_TOOL_LIVE_FILES_OWN_ALLOCATOR_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct mw_own_allocator {
	const char *name;   /* such as "jemalloc" */
	const char *symbol; /* the function or section by which it is recognised */
	bool is_unknown;    /* the file was not read in time */
} mw_own_allocator_t;

/* Looks for the allocator in an executable's symbols, for at most ten seconds, in a process of its
 * own. Returns false if none is found, if it is mallow's archive, or if the file has no symbols or
 * cannot be read. */
bool mw_own_allocator_find(const char *path, mw_own_allocator_t *found);

/* Returns whether a file is mallow's library, or a program that is linked with it, whatever its
 * name: by the note of state/tool_entry.h. *inode, unless NULL: the file's number, if it can be
 * opened. May not return: for another process's files see mw_mallow_files_read(). */
bool mw_file_has_mallow(const char *path, ino_t *inode);

#endif
