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

#endif
