/* SPDX-License-Identifier: MIT
 * heap_start.c -- what src/api/process/start.c does for the rest of the API, without starting
 * anything: the heap is fuzzed without a profiler. */
#include "api/process/start.h"
#include "heap/stats/stats.h"

mw_api_policy_t mw_api_policy = {.zero_realloc = MW_ZERO_REALLOC_FREE};

void mw_api_stats(uint64_t *stats) {
	mw_heap_stats(stats);
}
