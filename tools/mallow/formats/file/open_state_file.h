/* SPDX-License-Identifier: MIT
 * open_state_file.h -- opens profiles; opens and removes state files without following links, and
 * tells whether their process runs.
 * Layer: formats/file.  The library keeps state files in directories that belong to their users,
 * for example /dev/shm/mallow-1000/4711.99.  While root reads or removes a file, its user may
 * replace the file or the directory by a link. */
#ifndef MW_TOOL_FORMATS_FILE_OPEN_STATE_FILE_H
#define MW_TOOL_FORMATS_FILE_OPEN_STATE_FILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/types.h>

/* Opens a file as open(2) does, with O_CLOEXEC and O_NOCTTY. If the path ends like a path of the
 * library ("mallow-<number>/<numbers>"), neither the directory nor the file may be a link (errno is
 * then ELOOP or ENOTDIR), and a pipe does not block. */
int mw_open_file(const char *path, int flags);

/* From now on mw_open_file() opens below this directory regular files only: the command finds names
 * in it that somebody else may have put there.  Opening a pipe waits for its writer, and opening a
 * device may change it.  mw_open_file() looks before it opens, and fails with ENXIO. */
void mw_open_only_files_below(const char *directory);
/* A variable of the environment; if it is set, mw_open_file() opens regular files only, wherever
 * they are. `mallow web` sets it for the commands that it runs. */
#define MW_OPEN_ONLY_FILES "MALLOW_ONLY_FILES"

/* Removes the state file at `path` if it still is the file with this device and inode.  Returns
 * 0, or -1 with errno. */
int mw_remove_file(const char *path, dev_t device, ino_t inode);

/* Returns the lock of one byte of a state file (MW_STATE_..._LOCK), as fcntl(2) takes it. `type`:
 * F_RDLCK, F_WRLCK, F_UNLCK. */
struct flock mw_state_file_lock(off_t byte, short type);
/* True if the process that made the file still holds its lock, so the process runs
 * (state/layout.h).  `fd` is open for reading. */
bool mw_state_file_is_held(int fd);
/* As mw_state_file_is_held(), for a path; false if the file cannot be opened. */
bool mw_state_file_is_held_at(const char *path);

#endif
