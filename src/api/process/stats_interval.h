/* SPDX-License-Identifier: MIT
 * stats_interval.h -- jemalloc's stats_interval: prints statistics each time the program has
 * allocated a given number of bytes. Layer: api/process. Checked when a thread's list of free
 * blocks ends, and at each block too large for such a list. */
#ifndef MW_API_STATS_INTERVAL_H
#define MW_API_STATS_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* true: threads call mw_api_check_interval(); see `watched` in heap/local/heap.h */
extern bool mw_api_has_interval;
/* Sets the interval. `letters` are options of malloc_stats_print() and stay the caller's. Called
 * before threads exist. */
MW_COLD void mw_api_stats_every(uint64_t bytes, const char *letters);
/* Called by a thread before it returns a block to the program, without locks. Keeps errno. */
MW_COLD void mw_api_check_interval(void);

#endif
