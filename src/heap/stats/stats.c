/* SPDX-License-Identifier: MIT
 * stats.c -- collects the numbers of the heap's parts. */
#include "heap/stats/stats.h"

#include "heap/arena/arena.h"
#include "heap/large/huge.h"
#include "heap/layout/page.h"
#include "heap/local/holes.h"
#include "heap/memory/chunk.h"
#include "heap/memory/limit.h"
#include "heap/memory/meta.h"
#include "heap/misuse/guarded.h"
#include "heap/remote/abandoned.h"
#include "heap/thread/thread.h"

void mw_heap_stats(uint64_t stats[MW_STAT_COUNT]) {
	mw_chunk_stats_t chunk;
	mw_huge_stats_t huge;
	mw_chunk_stats(&chunk);
	mw_huge_stats(&huge);
	mw_arena_totals_t arenas = mw_arena_totals();
	mw_limit_stats_t limit;
	mw_limit_stats(&limit);
	stats[MW_STAT_mapped_bytes] = chunk.chunks * MW_CHUNK_BYTES + huge.live_bytes +
				      huge.cached_bytes + arenas.mapped_bytes;
	stats[MW_STAT_in_use_bytes] = chunk.in_use_bytes + huge.live_bytes + arenas.in_use_bytes;
	stats[MW_STAT_dirty_bytes] = chunk.dirty_bytes + chunk.muzzy_bytes + arenas.dirty_bytes;
	stats[MW_STAT_purged_bytes] =
		chunk.purged_bytes + arenas.purged_bytes + mw_holes_purged_bytes();
	stats[MW_STAT_huge_bytes] = huge.live_bytes;
	stats[MW_STAT_huge_blocks] = huge.blocks;
	stats[MW_STAT_huge_cached_bytes] = huge.cached_bytes;
	stats[MW_STAT_metadata_bytes] = mw_meta_bytes();
	stats[MW_STAT_chunks] = chunk.chunks;
	stats[MW_STAT_abandoned_pages] = mw_abandoned_count();
	stats[MW_STAT_page_takes] = chunk.page_takes;
	stats[MW_STAT_soft_limit_bytes] = limit.soft_bytes;
	stats[MW_STAT_hard_limit_bytes] = limit.hard_bytes;
	stats[MW_STAT_soft_limit_passes] = limit.soft_passes;
	stats[MW_STAT_hard_limit_refusals] = limit.hard_refusals;
	mw_guarded_stats_t guarded = mw_guarded_stats();
	stats[MW_STAT_guarded_blocks] = guarded.live;
	stats[MW_STAT_guarded_taken] = guarded.taken;
	mw_heap_numbers_t numbers = mw_heap_numbers();
	stats[MW_STAT_heaps] = numbers.heaps;
	stats[MW_STAT_live_threads] = numbers.live_threads;
}
