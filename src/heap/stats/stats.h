/* SPDX-License-Identifier: MIT
 * stats.h -- the heap's statistics, in the order of state/stats.def.
 * Layer: heap.  Takes the heap's locks: not called from hooks that run under one.
 *
 * Door of heap/stats, the top of src/heap.  Reading order: stats, heap_walk (what the heap's pages
 * hold), arena_walk (the live blocks of an arena), thread_counter (counters of one thread that a
 * program reads as variables).  What they sum up is counted below: heap/layout/counters.h (rare
 * events of all threads), heap/local/counts.h (one thread). */
#ifndef MW_HEAP_STATS_H
#define MW_HEAP_STATS_H

#include <stdint.h>

#include "state/stats.h"

void mw_heap_stats(uint64_t stats[MW_STAT_COUNT]);

#endif
