/* SPDX-License-Identifier: MIT
 * read.h -- reads a profile of any format, which it tells by the content.
 * Layer: tools/read.  State files; profile.proto; jemalloc's heap_v2, prof_log and prof_recent;
 * gperftools' "heap profile:" text (heapprofile, heap_v2/N, heap/N, growth), CPU and contention
 * profiles; "--- symbol" with any of these; folded stacks.  All but state files plain, gzip or
 * zstd. Sampled formats are scaled up, so that every profile in memory holds estimates of the
 * whole.  Every input is taken for hostile: memory is bounded by a small multiple of the file's
 * size. */
#ifndef MW_TOOL_READ_READ_H
#define MW_TOOL_READ_READ_H

#include <stdbool.h>

#include "model/error.h"
#include "model/profile.h"

int mw_read_profile(const char *path, mw_profile_t **profile, mw_error_t *error);
/* Of a state file, split by thread, size, age and lifetime (read/state_file.h); others as they are.
 * `is_running`: its process. */
int mw_read_profile_split(const char *path, bool is_running, mw_profile_t **profile,
			  mw_error_t *error);

/* The same for bytes in memory (not a state file); `name` is for messages. */
int mw_read_profile_bytes(const char *name, const void *bytes, size_t length,
			  mw_profile_t **profile, mw_error_t *error);

#endif
