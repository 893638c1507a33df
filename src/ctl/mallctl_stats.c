/* SPDX-License-Identifier: MIT
 * mallctl_stats.c -- the statistics behind the control names, taken at each "epoch".  Each is one
 * word, stored and loaded relaxed: a reader beside a writer sees some of the new ones. */
#include <errno.h>
#include <stddef.h>

#include "ctl/mallctl.h"
#include "ctl/mallctl_row.h"
#include "heap/background.h"
#include "heap/heap.h"
#include "heap/stats.h"
#include "os/clock.h"
#include "os/map.h"

static struct {
	mw_ctl_stats_t stats;
	_Atomic uint64_t epoch;
	uint64_t started_ns;
} ctl = {.epoch = 1};

/* Sums of a survey, whose sink has no context: the calling thread's. */
typedef struct sums {
	mw_ctl_stats_t *stats;
	uint64_t touched_bytes, large_bytes;
} sums_t;
static MW_TLS sums_t *sums;

static void see_range(uintptr_t start, uintptr_t limit, unsigned kind) {
	(void)start;
	(void)limit;
	(void)kind;
}

static uint64_t whole_pages(uint64_t bytes) {
	return (bytes + MW_OS_PAGE_BYTES - 1) / MW_OS_PAGE_BYTES * MW_OS_PAGE_BYTES;
}

static void see_class(const mw_survey_class_t *seen) {
	if (seen->block_bytes == 0) {
		sums->large_bytes = seen->used_bytes;
		return;
	}
	unsigned c = mw_class_of(seen->block_bytes);
	mw_ctl_class_t *class = &sums->stats->classes[c];
	class->curregs = seen->used_bytes / seen->block_bytes;
	class->curslabs = seen->memory_bytes / (mw_class_run_slices[c] * MW_SLICE_BYTES);
	sums->touched_bytes += whole_pages(seen->touched_bytes);
	sums->stats->small_allocated += seen->used_bytes;
}

static void count_blocks(mw_ctl_stats_t *stats) {
	mw_heap_counts_t counts;
	mw_heap_sum_counts(&counts);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_ctl_class_t *class = &stats->classes[c];
		class->nmalloc = counts.given[c];
		/* Taken one after the other: a moment lies between them. */
		if (class->nmalloc < class->curregs)
			class->nmalloc = class->curregs;
		class->ndalloc = class->nmalloc - class->curregs;
		stats->small_nmalloc += class->nmalloc;
		stats->small_ndalloc += class->ndalloc;
	}
	stats->large_nmalloc = counts.large;
	stats->large_ndalloc = counts.large_freed;
}

/* doc/jemalloc.md says what each is here. */
static void take(mw_ctl_stats_t *stats) {
	static const mw_survey_sink_t sink = {.range = see_range, .size_class = see_class};
	uint64_t heap[MW_STAT_COUNT];
	sums_t own = {.stats = stats};
	mw_heap_stats(heap);
	sums = &own;
	mw_heap_survey(&sink);
	sums = NULL;
	count_blocks(stats);
	uint64_t kept = heap[MW_STAT_dirty_bytes] + heap[MW_STAT_huge_cached_bytes];
	stats->large_allocated = own.large_bytes + heap[MW_STAT_huge_bytes];
	stats->allocated = stats->small_allocated + stats->large_allocated;
	stats->active = own.touched_bytes + stats->large_allocated;
	/* The records of a chunk's slices. */
	stats->metadata_edata = heap[MW_STAT_chunks] * MW_CHUNK_SLICES * sizeof(mw_page_t);
	stats->metadata = heap[MW_STAT_metadata_bytes] + stats->metadata_edata;
	stats->resident = stats->active + kept + stats->metadata;
	uint64_t mapped = heap[MW_STAT_mapped_bytes] + heap[MW_STAT_metadata_bytes];
	stats->mapped = stats->resident < mapped ? stats->resident : mapped;
	stats->retained = mapped - stats->mapped;
	stats->pactive = stats->active / MW_OS_PAGE_BYTES;
	stats->pdirty = kept / MW_OS_PAGE_BYTES;
	stats->purged_pages = heap[MW_STAT_purged_bytes] / MW_OS_PAGE_BYTES;
	stats->threads = heap[MW_STAT_live_threads];
	stats->uptime_ns = mw_os_monotonic_ns() - ctl.started_ns;
	stats->background_threads = mw_background_is_running();
}

void mw_mallctl_refresh(void) {
	mw_ctl_stats_t stats = {0};
	if (ctl.started_ns == 0)
		ctl.started_ns = mw_os_monotonic_ns();
	take(&stats);
	const uint64_t *from = (const uint64_t *)(const void *)&stats;
	uint64_t *to = (uint64_t *)(void *)&ctl.stats;
	for (size_t i = 0; i < sizeof stats / sizeof *to; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

/* Nobody has written "epoch" yet: as jemalloc, the figures of the first use. */
static uint64_t load(const char *base, uint64_t offset) {
	if (ctl.started_ns == 0)
		mw_mallctl_refresh();
	return __atomic_load_n((const uint64_t *)(const void *)(base + offset), __ATOMIC_RELAXED);
}

int mw_ctl_at_epoch(mw_ctl_call_t *call) {
	if (call->writing) {
		mw_mallctl_refresh();
		atomic_fetch_add_explicit(&ctl.epoch, 1, memory_order_relaxed);
	}
	call->value = atomic_load_explicit(&ctl.epoch, memory_order_relaxed);
	return 0;
}

int mw_ctl_at_stat(mw_ctl_call_t *call) {
	call->value = load((const char *)&ctl.stats, call->argument);
	return 0;
}

int mw_ctl_at_arena_stat(mw_ctl_call_t *call) {
	mw_ctl_arena_t arena = mw_ctl_arena_of(call->mib[2]);
	call->value = arena == MW_CTL_HEAP ? load((const char *)&ctl.stats, call->argument) : 0;
	return arena == MW_CTL_NO_ARENA ? ENOENT : 0;
}

/* "stats.arenas.<i>.bins.<j>.*" */
int mw_ctl_at_bin_stat(mw_ctl_call_t *call) {
	mw_ctl_arena_t arena = mw_ctl_arena_of(call->mib[2]);
	if (arena == MW_CTL_NO_ARENA || call->mib[4] >= MW_CLASS_COUNT)
		return ENOENT;
	call->value = arena == MW_CTL_HEAP
			      ? load((const char *)&ctl.stats.classes[call->mib[4]], call->argument)
			      : 0;
	return 0;
}

int mw_ctl_at_in_use(mw_ctl_call_t *call) {
	call->value = mw_heap_in_use_bytes();
	return 0;
}

int mw_ctl_at_pactive_pointer(mw_ctl_call_t *call) {
	if (mw_ctl_arena_of(call->mib[2]) == MW_CTL_NO_ARENA)
		return ENOENT;
	call->value = (uintptr_t)&ctl.stats.pactive;
	return 0;
}
