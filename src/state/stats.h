/* SPDX-License-Identifier: MIT
 * stats.h -- numbers of the rows of stats.def.
 * Layer: state. This header holds names and no file layout, so that the heap can include it; only
 * heap/stats, whose walks fill in rows of the file, includes state/layout.h, too. */
#ifndef MW_STATE_STATS_H
#define MW_STATE_STATS_H

enum {
#define MW_STAT(name, unit, help) MW_STAT_##name,
#include "state/stats.def"
#undef MW_STAT
	MW_STAT_COUNT,
	/* Rows from here on are written when the resident pages are counted
	 * (prof/control/heap_walk.c), those before at each tick. */
	MW_STAT_OF_HEAP = MW_STAT_resident_most_bytes,
};

/* Kinds of address ranges in a heap walk. */
enum {
	MW_RANGE_NONE,
	MW_RANGE_CHUNKS,      /* chunks of the heap: blocks of all but the largest sizes */
	MW_RANGE_HUGE,        /* live huge blocks */
	MW_RANGE_HUGE_CACHED, /* mappings of freed huge blocks, kept for reuse */
	MW_RANGE_METADATA,    /* the allocator's metadata */
	MW_RANGE_PROFILER,
	MW_RANGE_THREAD, /* one byte: the address in a thread's pointer, at the top of its stack */
	/* A mapping that the program made itself, see MW_STACK_MAPPING. Other ranges may lie in
	 * it. */
	MW_RANGE_MAPPING,
	MW_RANGE_KINDS,
};

#endif
