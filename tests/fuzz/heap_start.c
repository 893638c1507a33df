/* SPDX-License-Identifier: MIT
 * heap_start.c -- what src/api/start.c does for the rest of the API, without starting anything: the
 * heap is fuzzed without a profiler. */
#include "api/start.h"
#include "heap/stats.h"

void mw_api_stats(uint64_t *stats) {
	mw_heap_stats(stats);
}
