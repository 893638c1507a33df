/* SPDX-License-Identifier: MIT
 * stats.h -- the heap's statistics, in the order of state/stats.def.
 * Layer: heap.  Takes the heap's locks: not from hooks that run under one. */
#ifndef MW_HEAP_STATS_H
#define MW_HEAP_STATS_H

#include <stdint.h>

#include "state/stats.h"

void mw_heap_stats(uint64_t stats[MW_STAT_COUNT]);

#endif
