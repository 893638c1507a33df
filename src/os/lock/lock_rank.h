/* SPDX-License-Identifier: MIT
 * lock_rank.h -- the order in which locks nest: a thread takes them in rising rank only.
 * Layer: os/lock. Checked in debug builds by lock.c. */
#ifndef MW_OS_LOCK_RANK_H
#define MW_OS_LOCK_RANK_H

typedef enum mw_lock_rank {
	MW_RANK_CTL = 0, /* ctl: statistics that the control names read */
	MW_RANK_CONTROL =
		1, /* prof: applying control words, creating and publishing the state file */
	MW_RANK_SAMPLED = 2,   /* heap: sampled-slot pages, one lock per size class */
	MW_RANK_HEAPS = 3,     /* heap: registry of thread heaps */
	MW_RANK_ABANDONED = 4, /* heap: abandoned pages, one lock per size class */
	MW_RANK_HUGE = 5,      /* heap: registry and cache of huge blocks */
	MW_RANK_CHUNKS = 6,    /* heap: chunks and their slices */
	MW_RANK_MODULES = 7,   /* prof: modules table */
	MW_RANK_META = 8,      /* heap: bump allocator for metadata */
	MW_RANK_GUARDED = 9,   /* heap: pool of guarded samples */
	MW_RANK_ARENAS = 10,   /* heap: list of the arenas that programs created */
	MW_RANK_ARENA = 11,    /* heap: chunks of one explicit arena */
	MW_RANK_SUMS = 12,     /* ctl: sums of samples by size class */
	MW_RANK_CPU = 13,      /* cpu: timers of threads */
} mw_lock_rank_t;

#endif
