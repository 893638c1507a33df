/* SPDX-License-Identifier: MIT
 * interval.h -- jemalloc's stats_interval: statistics each time so much was allocated.
 * Layer: api.  Seen at the ends of threads' lists of free blocks, and at each block above them. */
#ifndef MW_API_INTERVAL_H
#define MW_API_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

extern bool mw_api_has_interval; /* then threads are watched: heap/heap.h */
/* `letters` stay the caller's.  Before threads exist. */
MW_COLD void mw_api_stats_every(uint64_t bytes, const char *letters);
/* By a thread that is about to give out a block; no lock is held.  errno is kept. */
MW_COLD void mw_api_look_at_interval(void);

#endif
