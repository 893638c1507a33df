/* SPDX-License-Identifier: MIT
 * regular_file.h -- opens a file that another process has chosen.
 * Layer: live/files. */
#ifndef MW_TOOL_LIVE_FILES_REGULAR_FILE_H
#define MW_TOOL_LIVE_FILES_REGULAR_FILE_H

/* Opens a file for reading if the path leads to a regular one: to open a device may have effects.
 * -1: it cannot be opened, or is no regular file.  A pipe is not waited for; a file system that
 * does not answer is, see apart.h. */
int mw_open_regular_file(const char *path);

#endif
