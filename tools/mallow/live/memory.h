/* SPDX-License-Identifier: MIT
 * memory.h -- what the resident memory of a live process is used for.
 * Layer: live.  From /proc/<pid>/smaps, and the ranges of the last survey in its state file; where
 * a mapping of the kernel's holds several ranges, /proc/<pid>/pagemap says which pages are there.
 */
#ifndef MW_LIVE_MEMORY_H
#define MW_LIVE_MEMORY_H

#include <stdint.h>

#include "model/error.h"
#include "read/state_file.h"

typedef enum mw_memory_use {
	MW_MEMORY_LIVE,     /* blocks in use, as asked for */
	MW_MEMORY_ROUNDING, /* of them: what sizes are rounded up by */
	MW_MEMORY_FREE,     /* free blocks in pages that hold others in use */
	MW_MEMORY_KEPT,     /* free pages and mappings kept for reuse */
	MW_MEMORY_METADATA, /* of the allocator */
	MW_MEMORY_PROFILER, /* its tables and the state file */
	MW_MEMORY_STACKS,
	MW_MEMORY_FILES,
	MW_MEMORY_OTHER,
	MW_MEMORY_USES,
} mw_memory_use_t;

typedef struct mw_memory {
	uint64_t bytes[MW_MEMORY_USES]; /* their sum is `resident_bytes` */
	uint64_t resident_bytes;        /* all of smaps' Rss */
	uint64_t blocks_bytes;          /* in blocks handed out, by the heap's own count */
	int64_t surveyed_ns;            /* CLOCK_REALTIME of the last survey; 0: none yet */
	uint64_t ranges_missing;        /* did not fit: they count as other */
} mw_memory_t;

/* `snapshot` has MW_SNAPSHOT_STACKS and MW_SNAPSHOT_SURVEY.  -1: smaps cannot be read. */
int mw_memory_read(int pid, const mw_snapshot_t *snapshot, mw_memory_t *out, mw_error_t *error);

/* "live", for JSON; and in a few words. */
const char *mw_memory_name(mw_memory_use_t use);
const char *mw_memory_text(mw_memory_use_t use);

#endif
