/* SPDX-License-Identifier: MIT
 * resident_parts.c -- divides the resident memory at a process's peak by the counters in its state
 * file. */
#include "formats/state/state_file.h"
#include "state/stats.h"

/* Takes at most `wanted` bytes of `*left`: the file is not trusted, and its numbers are of
 * different moments. */
static uint64_t take(uint64_t *left, uint64_t wanted) {
	uint64_t taken = wanted < *left ? wanted : *left;
	*left -= taken;
	return taken;
}

static uint64_t stat(const mw_state_live_t *live, unsigned row) {
	return live->stats[row] < INT64_MAX / 8 ? live->stats[row] : INT64_MAX / 8;
}

mw_resident_t mw_resident_from_snapshot(const mw_snapshot_t *snapshot) {
	const mw_state_live_t *live = &snapshot->live;
	mw_resident_t r = {.at_peak = true};
	/* Of another allocator there are no counters. */
	if ((live->flags & MW_STATE_ATTACHED) || live->stat_count < MW_STAT_COUNT ||
	    stat(live, MW_STAT_resident_looks) == 0)
		return r;
	uint64_t counted = stat(live, MW_STAT_peak_resident_bytes), left = counted;
	r.bytes = counted;
	if (stat(live, MW_STAT_resident_most_bytes) > r.bytes)
		r.bytes = stat(live, MW_STAT_resident_most_bytes);
	if (live->resident_bytes > r.bytes && live->resident_bytes < INT64_MAX / 8)
		r.bytes = live->resident_bytes;
	r.most_bytes = r.bytes;
	r.parts[MW_RESIDENT_FILES] = take(&left, stat(live, MW_STAT_peak_file_bytes));
	r.parts[MW_RESIDENT_MALLOC] = take(&left, stat(live, MW_STAT_peak_heap_bytes));
	r.parts[MW_RESIDENT_PROFILER] = take(&left, stat(live, MW_STAT_peak_profiler_bytes));
	r.parts[MW_RESIDENT_MAPPED] = left;
	r.parts[MW_RESIDENT_UNEXPLAINED] = r.bytes - counted;
	r.block_bytes = stat(live, MW_STAT_peak_block_bytes);
	r.touched_bytes = r.parts[MW_RESIDENT_MALLOC] < r.block_bytes ? r.parts[MW_RESIDENT_MALLOC]
								      : r.block_bytes;
	r.threads = stat(live, MW_STAT_live_threads);
	return r;
}
