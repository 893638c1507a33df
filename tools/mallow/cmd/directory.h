/* SPDX-License-Identifier: MIT
 * directory.h -- a directory of dumps as a target.
 * Layer: cmd. */
#ifndef MW_CMD_DIRECTORY_H
#define MW_CMD_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"

bool mw_is_directory(const char *path);

/* A file of it; not 0: it is none of those that are looked for, and `error` says why. */
typedef int mw_file_take_t(void *context, const char *path, mw_error_t *error);

/* Gives all files whose names do not begin with a dot to `take`, in the order of their names, and
 * counts those that it did not take.  -1: it took none. */
int mw_directory_walk(const char *directory, mw_file_take_t *take, void *context, size_t *skipped,
		      mw_error_t *error);

/* When a dump was taken: as it says, or as its file was written last, for jemalloc's and
 * gperftools' do not say. */
int64_t mw_dump_time_ns(const mw_profile_t *profile, const char *path);

/* Paths, each to be freed, and the array too. */
typedef struct mw_paths {
	char **items;
	size_t count, capacity;
} mw_paths_t;

void mw_paths_add(mw_paths_t *paths, const char *path);
void mw_paths_release(mw_paths_t *paths);

/* Adds the newest dump of each process that has some in the directory.  Processes are told apart by
 * what the dumps say, or by their names: prefix.4711.12.i12.heap is jemalloc's of process 4711,
 * prefix.0012.heap gperftools' of the one with this prefix. */
int mw_directory_newest(const char *directory, mw_paths_t *paths, mw_error_t *error);

#endif
