/* SPDX-License-Identifier: MIT
 * resident_memory.h -- tells what the resident memory of a live process is used for.
 * Layer: live/process.  The sources are /proc/<pid>/smaps and the ranges of the last heap walk
 * in the state file.  If a kernel mapping holds several ranges, /proc/<pid>/pagemap tells which
 * pages are resident. */
#ifndef MW_TOOL_LIVE_PROCESS_RESIDENT_MEMORY_H
#define MW_TOOL_LIVE_PROCESS_RESIDENT_MEMORY_H

#include <stdint.h>

#include "formats/state/state_file.h"
#include "model/error.h"

typedef enum mw_memory_use {
	MW_MEMORY_LIVE,     /* bytes that the program requested, in blocks in use */
	MW_MEMORY_ROUNDING, /* bytes by which sizes of blocks in use are rounded up */
	MW_MEMORY_FREE,     /* free blocks in pages that also hold blocks in use */
	MW_MEMORY_KEPT,     /* free pages and mappings that are kept for reuse */
	MW_MEMORY_METADATA, /* metadata of the allocator */
	MW_MEMORY_PROFILER, /* tables of the profiler, and the state file */
	MW_MEMORY_STACKS,
	MW_MEMORY_FILES,
	MW_MEMORY_SHARED, /* shared memory without a name, or of /dev/shm */
	MW_MEMORY_MAPPED, /* mapped by the program itself */
	MW_MEMORY_OTHER,  /* what no counter explains */
	MW_MEMORY_USES,
} mw_memory_use_t;

/* Most calls of the program that are named as those which mapped memory. */
#define MW_MEMORY_OWNERS_MAX 8u

typedef struct mw_memory {
	uint64_t bytes[MW_MEMORY_USES]; /* by use; their sum is `resident_bytes` */
	uint64_t resident_bytes;        /* Rss of all mappings in smaps */
	uint64_t most_bytes;            /* most since the start, by the kernel; 0 = not known */
	uint64_t swapped_bytes;
	uint64_t blocks_bytes; /* bytes in blocks in use, by the heap's counters */
	int64_t walked_ns;     /* CLOCK_REALTIME of the last heap walk; 0 = none yet */
	/* Number of ranges that the state file has no room for; what they hold counts as other. */
	uint64_t ranges_missing;
	/* Parts of the program's mappings by the stack of the call that mapped them, largest first,
	 * with resident bytes: of a process that records its mappings (option prof_mappings). */
	mw_stack_bytes_t owners[MW_MEMORY_OWNERS_MAX];
	size_t owner_count;
	uint64_t owned_bytes; /* by all such stacks */
} mw_memory_t;

/* Reads the use of memory.  `snapshot` was read with MW_SNAPSHOT_STACKS and MW_SNAPSHOT_HEAP_WALK.
 * -1: smaps cannot be read. */
int mw_memory_read(int pid, const mw_snapshot_t *snapshot, mw_memory_t *out, mw_error_t *error);

/* Adds the uses up to the parts that all views name. */
mw_resident_t mw_memory_parts(const mw_memory_t *memory);

/* Returns the resident memory of a process that is of no file, and its maximum since the start, of
 * files, too; 0: not known. */
uint64_t mw_memory_anonymous(int pid);
uint64_t mw_memory_most(int pid);

/* Returns the name of a use for JSON ("live"), and in a few words. */
const char *mw_memory_name(mw_memory_use_t use);
const char *mw_memory_text(mw_memory_use_t use);

#endif
