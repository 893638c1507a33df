/* SPDX-License-Identifier: MIT
 * mallctl_slabs.c -- how full the aligned 2 MiB parts of the heap are, shown as jemalloc's
 * statistics of huge page slabs. They tell where huge pages would help and where they waste
 * memory. */
#include "compat/jemalloc/mallctl/mallctl.h"
#include "compat/jemalloc/mallctl/mallctl_row.h"
#include "heap/layout/slices.h"
#include "heap/memory/chunk.h"
#include "os/memory/huge_pages.h"
#include "os/memory/map.h"

#define SLAB_SLICES ((unsigned)(MW_OS_HUGE_PAGE_BYTES / MW_SLICE_BYTES))
#define SLICE_PAGES (MW_SLICE_BYTES / MW_OS_PAGE_BYTES)

_Static_assert(MW_SLICE_BYTES >= 16384, "the sizes in steps of a quarter begin there");

unsigned mw_ctl_extent_of(uint64_t bytes) {
	unsigned log2 = mw_log2_floor(bytes);
	return 4 * (log2 - 14) + 3 + (unsigned)(bytes >> (log2 - 2) & 3);
}

uint64_t mw_mallctl_extent_bytes(size_t i) {
	return i < 3 ? (i + 1) * 4096 : (uint64_t)(4 + (i - 3) % 4) << (12 + (i - 3) / 4);
}

static unsigned longest_run(uint64_t slices) {
	unsigned longest = 0;
	while (slices) {
		unsigned count, first = mw_slices_first_run(slices, &count);
		if (count > longest)
			longest = count;
		slices &= ~mw_slices_mask(first, count);
	}
	return longest;
}

static void add(mw_ctl_slabs_t *slabs, bool huge, unsigned active, unsigned dirty) {
	slabs->count[huge]++;
	slabs->active_pages[huge] += active * SLICE_PAGES;
	slabs->dirty_pages[huge] += dirty * SLICE_PAGES;
}

static void see_slab(mw_ctl_stats_t *stats, bool huge, uint64_t free, uint64_t dirty_mask) {
	unsigned active = SLAB_SLICES - (unsigned)__builtin_popcountll(free);
	unsigned dirty = (unsigned)__builtin_popcountll(dirty_mask);
	mw_ctl_slabs_t *kind = &stats->full_slabs;
	if (active == 0)
		kind = &stats->empty_slabs;
	else if (free)
		kind = &stats->nonfull_slabs[mw_ctl_extent_of(longest_run(free) * MW_SLICE_BYTES)];
	add(kind, huge, active, dirty);
	add(&stats->slabs, huge, active, dirty);
}

void mw_ctl_see_slabs(mw_ctl_stats_t *stats) {
	for (const mw_chunk_t *chunk = mw_chunk_newest(); chunk; chunk = chunk->all_next) {
		/* Relaxed, as in heap_walk.c: each value was current at some time. */
		if (__atomic_load_n(&chunk->is_unmapped, __ATOMIC_RELAXED))
			continue;
		uint64_t free = __atomic_load_n(&chunk->free_mask, __ATOMIC_RELAXED);
		uint64_t dirty = __atomic_load_n(&chunk->dirty_mask, __ATOMIC_RELAXED) & free;
		unsigned halves = __atomic_load_n(&chunk->huge_halves, __ATOMIC_RELAXED);
		stats->metadata_huge_pages += halves & 1;
		stats->free_slices += (unsigned)__builtin_popcountll(free);
		for (unsigned first = 0; first < MW_CHUNK_SLICES; first += SLAB_SLICES) {
			uint64_t slab = mw_slices_mask(first, SLAB_SLICES);
			see_slab(stats, halves >> first / SLAB_SLICES & 1, free & slab,
				 dirty & slab);
		}
	}
	const mw_ctl_slabs_t *all = &stats->slabs;
	stats->slab_count = all->count[0] + all->count[1];
	stats->slab_active_pages = all->active_pages[0] + all->active_pages[1];
	stats->slab_dirty_pages = all->dirty_pages[0] + all->dirty_pages[1];
}
