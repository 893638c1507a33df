/* SPDX-License-Identifier: MIT
 * directory.h -- a directory of dumps as a target.
 * Layer: cmd. */
#ifndef MW_CMD_DIRECTORY_H
#define MW_CMD_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/load.h"

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

/* The newest dump of a process: without names, its own from now on.  -1: `error` says why not. */
typedef int mw_dump_take_t(void *context, const mw_target_t *target, mw_profile_t *profile,
			   mw_error_t *error);

/* Gives the newest dump of each process that has some in the directory to `take`, as far as it
 * takes them; each file is read once.  Processes are told apart by what the dumps say, or by their
 * names: prefix.4711.12.i12.heap is jemalloc's of process 4711, prefix.0012.heap gperftools' of the
 * one with this prefix. */
int mw_directory_newest(const char *directory, mw_load_detail_t detail, mw_dump_take_t *take,
			void *context, mw_error_t *error);

#endif
