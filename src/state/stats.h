/* SPDX-License-Identifier: MIT
 * stats.h -- the numbers of stats.def's rows.
 * Layer: state.  The one header of this layer the heap includes: names, no layout. */
#ifndef MW_STATE_STATS_H
#define MW_STATE_STATS_H

enum {
#define MW_STAT(name, unit, help) MW_STAT_##name,
#include "state/stats.def"
#undef MW_STAT
	MW_STAT_COUNT,
};

/* What a range of the address space is, in a survey. */
enum {
	MW_RANGE_NONE,
	MW_RANGE_CHUNKS,      /* of the heap: blocks of all but the largest sizes */
	MW_RANGE_HUGE,        /* live huge blocks */
	MW_RANGE_HUGE_CACHED, /* of freed ones */
	MW_RANGE_METADATA,    /* the allocator's own */
	MW_RANGE_PROFILER,
	MW_RANGE_KINDS,
};

#endif
