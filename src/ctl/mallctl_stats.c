/* SPDX-License-Identifier: MIT
 * mallctl_stats.c -- the statistics behind the control names, taken at each "epoch".  Each is one
 * word, stored and loaded relaxed: a reader beside a writer sees some of the new ones. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "ctl/mallctl.h"
#include "ctl/mallctl_row.h"
#include "heap/arena.h"
#include "heap/background.h"
#include "heap/chunk.h"
#include "heap/heap.h"
#include "heap/huge.h"
#include "heap/meta.h"
#include "heap/orphan.h"
#include "heap/sampled.h"
#include "heap/stats.h"
#include "heap/tally.h"
#include "os/clock.h"
#include "os/lock.h"
#include "os/map.h"
#include "prof/control.h"
#include "prof/dump.h"
#include "prof/recent.h"

static struct {
	mw_lock_t lock;
	mw_ctl_stats_t stats;
	mw_ctl_stats_t next; /* being taken, under the lock */
	/* Of the arenas that the program made: each, and their sum. */
	_Atomic(mw_ctl_stats_t *) made[MW_ARENAS_MAX];
	mw_ctl_stats_t made_sum;
	mw_ctl_stats_t destroyed; /* what arenas counted that are no more */
	_Atomic bool any_destroyed;
	_Atomic uint64_t refreshes; /* by "epoch" */
	_Atomic uint64_t started_ns;
} ctl MW_SPARSE;

/* What is known of each arena, in words, and what of that can be added up. */
#define ARENA_WORDS (offsetof(mw_ctl_stats_t, lextents) / sizeof(uint64_t))
#define SUMMED_WORDS (offsetof(mw_ctl_stats_t, locks) / sizeof(uint64_t))

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
	class->curregs = seen->live_blocks;
	class->curslabs = seen->pages;
	class->nonfull_slabs = seen->pages_with_room;
	sums->touched_bytes += whole_pages(seen->touched_bytes);
	sums->stats->small_allocated += seen->used_bytes;
}

static void see_free_slices(unsigned count, mw_free_slices_t kind) {
	uint64_t bytes = count * MW_SLICE_BYTES;
	mw_ctl_extent_t *extent = &sums->stats->extents[mw_ctl_extent_of(bytes)];
	uint64_t *const numbers[] = {&extent->nretained, &extent->ndirty, &extent->nmuzzy,
				     &extent->npinned};
	uint64_t *const sizes[] = {&extent->retained_bytes, &extent->dirty_bytes,
				   &extent->muzzy_bytes, &extent->pinned_bytes};
	++*numbers[kind];
	*sizes[kind] += bytes;
}

/* Of an arena no sizes are kept. */
static void see_free_bytes(unsigned count, mw_free_slices_t kind) {
	uint64_t bytes = count * MW_SLICE_BYTES;
	if (kind == MW_FREE_MUZZY)
		sums->stats->pmuzzy += bytes / MW_OS_PAGE_BYTES;
	if (kind == MW_FREE_PINNED)
		sums->stats->pinned += bytes;
}

static void see_all_free_slices(unsigned count, mw_free_slices_t kind) {
	see_free_slices(count, kind);
	see_free_bytes(count, kind);
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
		class->nmalloc = counts.given[c] + ctl.made_sum.classes[c].nmalloc;
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

/* NULL: its figures begin anew. */
static void see_lock(mw_lock_stats_t *sum, mw_lock_t *lock, mw_lock_rank_t rank) {
	if (sum)
		mw_lock_add_stats(lock, sum);
	else
		mw_lock_reset_stats(lock, rank);
}

static void see_entered_lock(mw_lock_stats_t *sum, mw_lock_t *lock) {
	if (sum)
		mw_lock_add_stats(lock, sum);
	else
		mw_lock_reset_entered(lock);
}

/* `shown`: by mw_ctl_lock_t, or NULL. */
static void see_locks(mw_lock_stats_t *shown) {
#define SUM(name) (shown ? &shown[MW_CTL_LOCK_##name] : NULL)
	see_lock(SUM(CTL), &ctl.lock, MW_RANK_CTL);
	see_lock(SUM(CONTROL), mw_control_lock(), MW_RANK_CONTROL);
	see_lock(SUM(HUGE), mw_huge_lock(), MW_RANK_HUGE);
	see_lock(SUM(CHUNKS), mw_chunk_lock(), MW_RANK_CHUNKS);
	see_lock(SUM(META), mw_meta_lock(), MW_RANK_META);
	see_lock(SUM(THREADS), mw_heap_threads_lock(), MW_RANK_HEAPS);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		see_lock(SUM(SAMPLES), mw_sampled_lock(c), MW_RANK_SAMPLED);
	see_lock(SUM(SUMS), mw_ctl_sums_lock(), MW_RANK_SUMS);
	see_entered_lock(SUM(DUMP), mw_dump_lock());
	see_entered_lock(SUM(RECENT), mw_recent_lock());
#undef SUM
}

int mw_ctl_at_mutexes_reset(mw_ctl_call_t *call) {
	(void)call;
	see_locks(NULL);
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
		.free_slices = see_all_free_slices,
	};
	uint64_t heap[MW_STAT_COUNT];
	sums_t own = {.stats = stats};
	mw_chunk_stats_t chunk;
	mw_heap_stats(heap);
	mw_chunk_stats(&chunk);
	sums = &own;
	mw_heap_survey(&sink);
	sums = NULL;
	count_blocks(stats);
	count_large_blocks(stats);
	see_locks(stats->locks);
	mw_ctl_see_slabs(stats);
	read_background(stats);
	uint64_t kept = heap[MW_STAT_dirty_bytes] + heap[MW_STAT_huge_cached_bytes];
	stats->large_allocated = own.large_bytes + heap[MW_STAT_huge_bytes];
	stats->allocated = stats->small_allocated + stats->large_allocated;
	stats->active = own.touched_bytes + stats->large_allocated;
	/* The records of a chunk's slices. */
	stats->metadata_edata =
		heap[MW_STAT_chunks] * MW_CHUNK_META_BYTES + ctl.made_sum.metadata_edata;
	stats->metadata = heap[MW_STAT_metadata_bytes] + stats->metadata_edata;
	stats->resident = stats->active + kept + stats->metadata;
	uint64_t mapped = heap[MW_STAT_mapped_bytes] + heap[MW_STAT_metadata_bytes];
	stats->mapped = stats->resident < mapped ? stats->resident : mapped;
	stats->retained = mapped - stats->mapped;
	stats->pactive = stats->active / MW_OS_PAGE_BYTES;
	stats->pdirty =
		(kept > chunk.muzzy_bytes ? kept - chunk.muzzy_bytes : 0) / MW_OS_PAGE_BYTES;
	stats->purged_pages = heap[MW_STAT_purged_bytes] / MW_OS_PAGE_BYTES;
	stats->threads = heap[MW_STAT_live_threads];
	stats->purges = chunk.purges + ctl.made_sum.purges;
	stats->purge_calls = chunk.purge_calls + ctl.made_sum.purge_calls;
	stats->muzzy_purges = chunk.muzzy_purges;
	stats->muzzy_purge_calls = chunk.muzzy_purge_calls;
	stats->muzzy_purged_pages = chunk.muzzy_purged_bytes / MW_OS_PAGE_BYTES;
	stats->slab_purges = chunk.purges;
	stats->slabs_refused = 2 * chunk.huge_pages_refused;
	stats->slabs_purged = chunk.huge_pages_purged;
	stats->uptime_ns = mw_os_monotonic_ns() - ctl.started_ns;
}

/* What its chunks hold, by the same walk as the whole heap's. */
static void take_arena(const mw_arena_t *arena, mw_ctl_stats_t *stats) {
	static const mw_survey_sink_t sink = {
		.range = see_range,
		.size_class = see_class,
		.free_slices = see_free_bytes,
	};
	sums_t own = {.stats = stats};
	sums = &own;
	mw_heap_survey_arena(arena, &sink);
	sums = NULL;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_ctl_class_t *class = &stats->classes[c];
		class->ndalloc = __atomic_load_n(&arena->slabs[c].given, __ATOMIC_RELAXED);
		class->nmalloc = __atomic_load_n(&arena->slabs[c].taken, __ATOMIC_RELAXED);
		class->nslabs = mw_tally_read(&arena->slabs[c].made);
		stats->small_nmalloc += class->nmalloc;
		stats->small_ndalloc += class->ndalloc;
	}
	stats->large_allocated = mw_tally_read(&arena->large_bytes);
	stats->large_ndalloc = mw_tally_read(&arena->large_freed);
	stats->large_nmalloc = mw_tally_read(&arena->large_made);
	stats->allocated = stats->small_allocated + stats->large_allocated;
	stats->active = own.touched_bytes + stats->large_allocated;
	uint64_t chunks = mw_tally_read(&arena->chunk_count);
	uint64_t kept = mw_tally_read(&arena->dirty_slices) * MW_SLICE_BYTES +
			mw_tally_read(&arena->kept_bytes);
	stats->metadata = stats->metadata_edata = chunks * MW_CHUNK_META_BYTES;
	stats->resident = stats->active + kept + stats->metadata;
	stats->mapped = stats->resident;
	uint64_t space = chunks * MW_CHUNK_BYTES + mw_tally_read(&arena->huge_bytes) +
			 mw_tally_read(&arena->kept_bytes);
	stats->retained = space > stats->mapped ? space - stats->mapped : 0;
	stats->pactive = stats->active / MW_OS_PAGE_BYTES;
	stats->pdirty = kept / MW_OS_PAGE_BYTES;
	stats->purged_pages =
		mw_tally_read(&arena->purged_slices) * MW_SLICE_BYTES / MW_OS_PAGE_BYTES;
	stats->purges = mw_tally_read(&arena->purges);
	stats->purge_calls = mw_tally_read(&arena->purge_calls);
	stats->threads = atomic_load_explicit(&arena->threads, memory_order_relaxed);
	mw_lock_add_stats(&arena->lock, &stats->locks[MW_CTL_LOCK_CHUNKS]);
	stats->uptime_ns = mw_os_monotonic_ns() - arena->made_ns;
}

/* Under the lock. */
static void publish(mw_ctl_stats_t *shown, size_t words) {
	const uint64_t *from = (const uint64_t *)(const void *)&ctl.next;
	uint64_t *to = (uint64_t *)(void *)shown;
	for (size_t i = 0; i < words; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
	memset(&ctl.next, 0, words * sizeof *to);
}

static void add_to_sum(void) {
	const uint64_t *from = (const uint64_t *)(const void *)&ctl.next;
	uint64_t *to = (uint64_t *)(void *)&ctl.made_sum;
	for (size_t i = 0; i < SUMMED_WORDS; i++)
		to[i] += from[i];
	ctl.made_sum.uptime_ns = 0; /* arena 0's is not less for theirs */
}

static void take_made_arenas(void) {
	memset(&ctl.made_sum, 0, sizeof ctl.made_sum);
	for (unsigned i = 1; i < mw_arena_count(); i++) {
		const mw_arena_t *arena = mw_arena_of(i);
		mw_ctl_stats_t *shown = ctl.made[i];
		if (arena && !shown)
			shown = mw_meta_alloc(sizeof *shown);
		if (!arena || !shown)
			continue;
		take_arena(arena, &ctl.next);
		add_to_sum();
		publish(shown, ARENA_WORDS);
		/* Release: pairs with the load in arena_word(). */
		atomic_store_explicit(&ctl.made[i], shown, memory_order_release);
	}
}

/* Its blocks go with it: all that were made are freed. */
static void add_destroyed(mw_ctl_stats_t *sum, const mw_ctl_stats_t *gone) {
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		sum->classes[c].nmalloc += gone->classes[c].nmalloc;
		sum->classes[c].ndalloc += gone->classes[c].nmalloc;
		sum->classes[c].nslabs += gone->classes[c].nslabs;
	}
	sum->small_nmalloc += gone->small_nmalloc;
	sum->small_ndalloc += gone->small_nmalloc;
	sum->large_nmalloc += gone->large_nmalloc;
	sum->large_ndalloc += gone->large_nmalloc;
	sum->purged_pages += gone->purged_pages;
	sum->purges += gone->purges;
	sum->purge_calls += gone->purge_calls;
}

void mw_ctl_count_destroyed(const mw_arena_t *arena) {
	mw_lock_acquire(&ctl.lock, MW_RANK_CTL);
	take_arena(arena, &ctl.next);
	add_destroyed(&ctl.destroyed, &ctl.next);
	memset(&ctl.next, 0, sizeof ctl.next);
	atomic_store_explicit(&ctl.any_destroyed, true, memory_order_relaxed);
	mw_lock_release(&ctl.lock, MW_RANK_CTL);
}

bool mw_ctl_any_destroyed(void) {
	return atomic_load_explicit(&ctl.any_destroyed, memory_order_relaxed);
}

void mw_mallctl_refresh(void) {
	mw_lock_acquire(&ctl.lock, MW_RANK_CTL);
	if (ctl.started_ns == 0)
		ctl.started_ns = mw_os_monotonic_ns();
	take_made_arenas();
	take(&ctl.next);
	publish(&ctl.stats, sizeof ctl.stats / sizeof(uint64_t));
	mw_lock_release(&ctl.lock, MW_RANK_CTL);
}

void mw_mallctl_fork_prepare(void) {
	mw_lock_fork_acquire(&ctl.lock);
}

void mw_mallctl_fork_release(bool in_child) {
	/* Whoever is inside did not come over: a sum of the child's may miss a sample. */
	if (in_child)
		mw_lock_leave(mw_ctl_sums_lock());
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
		atomic_fetch_add_explicit(&ctl.refreshes, 1, memory_order_relaxed);
	}
	/* jemalloc's begins with 1. */
	call->value = 1 + atomic_load_explicit(&ctl.refreshes, memory_order_relaxed);
	return 0;
}

int mw_ctl_at_stat(mw_ctl_call_t *call) {
	call->value = load((const char *)&ctl.stats, call->argument);
	return 0;
}

/* NULL: it was made after the last "epoch". */
static const mw_ctl_stats_t *shown_of(size_t number) {
	/* Pairs with the store in take_made_arenas(). */
	return atomic_load_explicit(&ctl.made[number], memory_order_acquire);
}

/* The word at `offset` of what is known of the arena. */
static uint64_t arena_word(size_t number, mw_ctl_arena_t arena, uint64_t offset) {
	uint64_t whole = load((const char *)&ctl.stats, offset);
	if (arena == MW_CTL_ALL_ARENAS || (arena == MW_CTL_ARENA_0 && mw_arena_count() == 1))
		return whole;
	if (arena == MW_CTL_ARENA_0) {
		uint64_t made = load((const char *)&ctl.made_sum, offset);
		return made < whole ? whole - made : 0;
	}
	if (arena == MW_CTL_DESTROYED_ARENAS)
		return load((const char *)&ctl.destroyed, offset);
	const mw_ctl_stats_t *shown = shown_of(number);
	return shown ? load((const char *)shown, offset) : 0;
}

int mw_ctl_at_arena_stat(mw_ctl_call_t *call) {
	mw_ctl_arena_t arena = mw_ctl_arena_of(call->mib[2]);
	if (arena == MW_CTL_NO_ARENA)
		return ENOENT;
	call->value = arena_word(call->mib[2], arena, call->argument);
	return 0;
}

/* A row of a table of the statistics. */
static int table_stat(mw_ctl_call_t *call, size_t table, size_t index, size_t row_bytes) {
	call->argument += table + index * row_bytes;
	return mw_ctl_at_arena_stat(call);
}

int mw_ctl_at_bin_stat(mw_ctl_call_t *call) {
	return table_stat(call, MW_CTL_STAT(classes), call->mib[4], sizeof *ctl.stats.classes);
}

int mw_ctl_at_lextent_stat(mw_ctl_call_t *call) {
	return table_stat(call, MW_CTL_STAT(lextents), call->mib[4], sizeof *ctl.stats.lextents);
}

int mw_ctl_at_extent_stat(mw_ctl_call_t *call) {
	return table_stat(call, MW_CTL_STAT(extents), call->mib[4], sizeof *ctl.stats.extents);
}

int mw_ctl_at_slab_stat(mw_ctl_call_t *call) {
	return table_stat(call, MW_CTL_STAT(nonfull_slabs), call->mib[5],
			  sizeof *ctl.stats.nonfull_slabs);
}

int mw_ctl_at_in_use(mw_ctl_call_t *call) {
	call->value = mw_heap_in_use_bytes();
	return 0;
}

/* As jemalloc: no length but the right one, and never a new value. */
int mw_ctl_at_pactive_pointer(mw_ctl_call_t *call) {
	const mw_ctl_stats_t *shown = &ctl.stats;
	mw_ctl_arena_t arena = mw_ctl_arena_of(call->mib[2]);
	if (arena == MW_CTL_NO_ARENA)
		return ENOENT;
	if (arena == MW_CTL_MADE_ARENA)
		shown = shown_of(call->mib[2]);
	if (!shown || arena == MW_CTL_ALL_ARENAS || arena == MW_CTL_DESTROYED_ARENAS)
		return EFAULT;
	const uint64_t *pointer = &shown->pactive;
	if (call->new || call->new_length || !call->old || !call->old_length ||
	    *call->old_length != sizeof pointer)
		return EINVAL;
	memcpy(call->old, &pointer, sizeof pointer);
	return 0;
}
