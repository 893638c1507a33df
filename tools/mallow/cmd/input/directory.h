/* SPDX-License-Identifier: MIT
 * directory.h -- a directory of dumps as a target.
 * Layer: cmd/input. */
#ifndef MW_TOOL_CMD_INPUT_DIRECTORY_H
#define MW_TOOL_CMD_INPUT_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/input/load.h"

bool mw_is_directory(const char *path);

/* Type of a function that takes a file.  A result other than 0 means that the file is not taken,
 * and `error` says why. */
typedef int mw_file_take_t(void *context, const char *path, mw_error_t *error);

/* Passes all files whose names do not begin with a dot to `take`, ordered by name, and counts
 * the files that it did not take. -1: it took none. */
int mw_directory_walk(const char *directory, mw_file_take_t *take, void *context, size_t *skipped,
		      mw_error_t *error);

/* Returns the time of a dump: the time in the dump, or the time of the file's last change,
 * because jemalloc's and gperftools' dumps have no time. */
int64_t mw_dump_time_ns(const mw_profile_t *profile, const char *path);

/* Type of a function that takes the newest dump of a process.  The profile has no names, and
 * belongs to the function. -1: `error` says why it was not taken. */
typedef int mw_dump_take_t(void *context, const mw_target_t *target, mw_profile_t *profile,
			   mw_error_t *error);

/* Passes the newest dump of each process to `take`, if it takes them.  Each file is read once.
 * Processes are distinguished by the content of the dumps, or by file names:
 * prefix.4711.12.i12.heap is jemalloc's for process 4711, prefix.0012.heap gperftools' for the
 * process with this prefix. */
int mw_directory_newest(const char *directory, mw_load_detail_t detail, mw_dump_take_t *take,
			void *context, mw_error_t *error);

#endif
