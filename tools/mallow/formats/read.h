/* SPDX-License-Identifier: MIT
 * read.h -- reads a profile of any format.  The content determines the format.
 * Layer: formats.  With write.h, the folder's door.  Formats are in the folders below: state,
 * proto, text; file is shared by them.
 * Formats: state files; profile.proto; jemalloc's heap_v2, prof_log and prof_recent; gperftools'
 * "heap profile:" text (heapprofile, heap_v2/N, heap/N, growth), CPU and contention profiles;
 * "--- symbol" before any of these; folded stacks; heaptrack; massif.  State files are plain.
 * All other formats may be plain, gzip or zstd.  Sampled formats are scaled up: every profile in
 * memory holds estimates of the whole program.
 * Every input may be hostile.  Reading takes memory of at most a small multiple of the file's
 * size. */
#ifndef MW_TOOL_FORMATS_READ_H
#define MW_TOOL_FORMATS_READ_H

#include <stdbool.h>

#include "model/error.h"
#include "model/profile.h"

int mw_read_profile(const char *path, mw_profile_t **profile, mw_error_t *error);
/* Reads a state file with its samples split by thread, size, age and lifetime
 * (formats/state/state_file.h), and any other file as mw_read_profile() does.  `is_running`: the
 * file's process still runs. */
int mw_read_profile_split(const char *path, bool is_running, mw_profile_t **profile,
			  mw_error_t *error);

/* Reads a profile from memory (not a state file).  `name` appears in messages. */
int mw_read_profile_bytes(const char *name, const void *bytes, size_t length,
			  mw_profile_t **profile, mw_error_t *error);

#endif
