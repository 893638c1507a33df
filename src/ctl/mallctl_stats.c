/* SPDX-License-Identifier: MIT
 * mallctl_stats.c -- the statistics behind the control names, taken at each "epoch".  Each is one
 * word, stored and loaded relaxed: a reader beside a writer sees some of the new ones. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "ctl/mallctl.h"
#include "ctl/mallctl_row.h"
#include "heap/background.h"
#include "heap/chunk.h"
#include "heap/heap.h"
#include "heap/huge.h"
#include "heap/meta.h"
#include "heap/orphan.h"
#include "heap/stats.h"
#include "heap/tally.h"
#include "os/clock.h"
#include "os/lock.h"
#include "os/map.h"
#include "prof/control.h"

static struct {
	mw_lock_t lock;
	mw_ctl_stats_t stats;
	mw_ctl_stats_t next;    /* being taken, under the lock */
	_Atomic uint64_t epoch; /* less the first, which is 1 */
	_Atomic uint64_t started_ns;
} ctl MW_SPARSE;

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
	class->curslabs = seen->pages;
	class->nonfull_slabs = seen->pages_with_room;
	sums->touched_bytes += whole_pages(seen->touched_bytes);
	sums->stats->small_allocated += seen->used_bytes;
}

/* jemalloc's number of the largest extent that is no larger. */
static unsigned extent_of(uint64_t bytes) {
	unsigned log2 = mw_log2_floor(bytes);
	return 4 * (log2 - 14) + 3 + (unsigned)(bytes >> (log2 - 2) & 3);
}

_Static_assert(MW_SLICE_BYTES >= 16384, "extent_of() is for the sizes in steps of a quarter");

static void see_extent(uint64_t bytes, bool dirty) {
	mw_ctl_extent_t *extent = &sums->stats->extents[extent_of(bytes)];
	if (dirty) {
		extent->ndirty++;
		extent->dirty_bytes += bytes;
	} else {
		extent->nretained++;
		extent->retained_bytes += bytes;
	}
}

static void see_free_slices(unsigned count, bool dirty) {
	see_extent(count * MW_SLICE_BYTES, dirty);
}

static void count_large_blocks(mw_ctl_stats_t *stats) {
	for (unsigned i = 0; i < MW_LARGE_CLASSES; i++) {
		mw_ctl_lextent_t *lextent = &stats->lextents[i];
		/* In this order: what is freed was made before. */
		lextent->ndalloc = mw_tally_read(&mw_tally.large_freed[i]);
		lextent->nmalloc = mw_tally_read(&mw_tally.large_made[i]);
		/* Without a heap of its own a thread makes no block, but may free one. */
		lextent->curlextents = lextent->nmalloc - lextent->ndalloc;
		stats->large_nmalloc += lextent->nmalloc;
		stats->large_ndalloc += lextent->ndalloc;
	}
}

_Static_assert(MW_LARGE_CLASSES <= MW_CTL_LEXTENTS, "each has its place");

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
		class->nfills = counts.fills[c];
		class->nflushes = mw_tally_read(&mw_tally.flushes[c]);
		class->nslabs = mw_tally_read(&mw_tally.pages[c]);
		class->nreslabs = mw_tally_read(&mw_tally.adopted[c]);
		mw_lock_add_stats(mw_orphan_lock(c), &class->lock);
		stats->small_nfills += class->nfills;
		stats->small_nflushes += class->nflushes;
		stats->small_nmalloc += class->nmalloc;
		stats->small_ndalloc += class->ndalloc;
	}
}

static mw_lock_t *lock_of(mw_ctl_lock_t which, mw_lock_rank_t *rank) {
	switch (which) {
	case MW_CTL_LOCK_CTL:
		*rank = MW_RANK_CTL;
		return &ctl.lock;
	case MW_CTL_LOCK_CONTROL:
		*rank = MW_RANK_CONTROL;
		return mw_control_lock();
	case MW_CTL_LOCK_HUGE:
		*rank = MW_RANK_HUGE;
		return mw_huge_lock();
	case MW_CTL_LOCK_CHUNKS:
		*rank = MW_RANK_CHUNKS;
		return mw_chunk_lock();
	case MW_CTL_LOCK_META:
		*rank = MW_RANK_META;
		return mw_meta_lock();
	case MW_CTL_LOCK_THREADS:
	case MW_CTL_LOCKS:
		break;
	}
	*rank = MW_RANK_HEAPS;
	return mw_heap_threads_lock();
}

static void read_locks(mw_ctl_stats_t *stats) {
	mw_lock_rank_t unused;
	for (unsigned i = 0; i < MW_CTL_LOCKS; i++)
		mw_lock_add_stats(lock_of(i, &unused), &stats->locks[i]);
}

int mw_ctl_at_mutexes_reset(mw_ctl_call_t *call) {
	(void)call;
	mw_lock_rank_t rank;
	for (unsigned i = 0; i < MW_CTL_LOCKS; i++) {
		mw_lock_t *lock = lock_of(i, &rank);
		mw_lock_reset_stats(lock, rank);
	}
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		mw_lock_reset_stats(mw_orphan_lock(c), MW_RANK_ORPHANS);
	return 0;
}

static void read_background(mw_ctl_stats_t *stats) {
	mw_background_stats_t background = mw_background_stats();
	stats->background_threads = mw_background_is_running();
	stats->background_runs = background.turns;
	if (background.turns)
		stats->background_interval_ns = background.slept_ns / background.turns;
}

/* doc/jemalloc.md says what each is here. */
static void take(mw_ctl_stats_t *stats) {
	static const mw_survey_sink_t sink = {
		.range = see_range,
		.size_class = see_class,
		.free_slices = see_free_slices,
	};
	uint64_t heap[MW_STAT_COUNT];
	sums_t own = {.stats = stats};
	mw_heap_stats(heap);
	sums = &own;
	mw_heap_survey(&sink);
	sums = NULL;
	count_blocks(stats);
	count_large_blocks(stats);
	read_locks(stats);
	read_background(stats);
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
	mw_chunk_stats_t chunk;
	mw_chunk_stats(&chunk);
	stats->purges = chunk.purges;
	stats->purge_calls = chunk.purge_calls;
	stats->uptime_ns = mw_os_monotonic_ns() - ctl.started_ns;
}

void mw_mallctl_refresh(void) {
	mw_lock_acquire(&ctl.lock, MW_RANK_CTL);
	if (ctl.started_ns == 0)
		ctl.started_ns = mw_os_monotonic_ns();
	memset(&ctl.next, 0, sizeof ctl.next);
	take(&ctl.next);
	const uint64_t *from = (const uint64_t *)(const void *)&ctl.next;
	uint64_t *to = (uint64_t *)(void *)&ctl.stats;
	for (size_t i = 0; i < sizeof ctl.next / sizeof *to; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
	mw_lock_release(&ctl.lock, MW_RANK_CTL);
}

void mw_mallctl_fork_prepare(void) {
	mw_lock_fork_acquire(&ctl.lock);
}

void mw_mallctl_fork_release(bool in_child) {
	mw_lock_fork_release(&ctl.lock, in_child);
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
	call->value = 1 + atomic_load_explicit(&ctl.epoch, memory_order_relaxed);
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

/* A row of a table that a name's fifth part is the index of. */
static int table_stat(mw_ctl_call_t *call, const void *table, size_t row_bytes) {
	call->argument +=
		(size_t)((const char *)table - (const char *)&ctl.stats) + call->mib[4] * row_bytes;
	return mw_ctl_at_arena_stat(call);
}

int mw_ctl_at_bin_stat(mw_ctl_call_t *call) {
	return table_stat(call, ctl.stats.classes, sizeof *ctl.stats.classes);
}

int mw_ctl_at_lextent_stat(mw_ctl_call_t *call) {
	return table_stat(call, ctl.stats.lextents, sizeof *ctl.stats.lextents);
}

int mw_ctl_at_extent_stat(mw_ctl_call_t *call) {
	return table_stat(call, ctl.stats.extents, sizeof *ctl.stats.extents);
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
