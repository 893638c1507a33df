/* SPDX-License-Identifier: MIT
 * mallow_files.h -- tells which of the files that a process maps are mallow, whatever their names.
 * Layer: live/process.  The files are chosen by the process, and their file systems need not
 * answer: they are read in a process of its own, with a limit of time.  What was found out is kept
 * until this command ends, so that a library of many processes is read once. */
#ifndef MW_TOOL_LIVE_PROCESS_MALLOW_FILES_H
#define MW_TOOL_LIVE_PROCESS_MALLOW_FILES_H

#include <stdbool.h>
#include <sys/types.h>

typedef enum mw_reading {
	MW_READ_APART, /* in another process, with a limit of time */
	MW_READ_HERE,  /* files of a program that the user of this command has started by it */
} mw_reading_t;

/* Reads the files of the process's code.  Returns whether one is mallow.  Files that cannot be
 * read, or not in time, count as others. */
bool mw_mallow_files_read(int pid, mw_reading_t how);
/* Returns whether a file is mallow.  `device`, `inode`: as maps shows them.  False, too, for a file
 * that mw_mallow_files_read() did not read for this process. */
bool mw_mallow_files_has(int pid, dev_t device, ino_t inode);

#endif
