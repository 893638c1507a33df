/* SPDX-License-Identifier: MIT
 * mallctl_stats.c -- statistics that control names read, computed at each "epoch". Each is one
 * word, stored and loaded relaxed: a reader during an update sees a mixture of old and new
 * values. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "api/process/compat_hooks.h"
#include "base/compiler.h"
#include "compat/jemalloc/mallctl/mallctl.h"
#include "compat/jemalloc/mallctl/mallctl_row.h"
#include "heap/arena/arena.h"
#include "heap/large/huge.h"
#include "heap/layout/counters.h"
#include "heap/local/heap.h"
#include "heap/memory/background.h"
#include "heap/memory/chunk.h"
#include "heap/memory/meta.h"
#include "heap/remote/abandoned.h"
#include "heap/sample/sampled.h"
#include "heap/stats/heap_walk.h"
#include "heap/stats/stats.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "os/lock/lock.h"
#include "os/memory/map.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof/control/prof_recent.h"
#include "prof/dump/dump.h"

static struct {
	mw_lock_t lock;
	mw_ctl_stats_t stats;
	mw_ctl_stats_t next; /* being computed, under the lock */
	/* Statistics of explicit arenas: each arena, and their sum. */
	_Atomic(mw_ctl_stats_t *) made[MW_ARENAS_MAX];
	mw_ctl_stats_t made_sum;
	mw_ctl_stats_t destroyed; /* counters of destroyed arenas */
	_Atomic bool any_destroyed;
	_Atomic uint64_t refreshes; /* number of writes to "epoch" */
	_Atomic uint64_t started_ns;
} ctl MW_SPARSE;

/* Words of the statistics of each arena, and how many of them can be added up. */
#define ARENA_WORDS (offsetof(mw_ctl_stats_t, lextents) / sizeof(uint64_t))
#define SUMMED_WORDS (offsetof(mw_ctl_stats_t, locks) / sizeof(uint64_t))

/* Sums of a heap walk of the calling thread. Thread-local, because the walk's callback has no
 * context. */
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

static void see_class(const mw_heap_walk_class_t *seen) {
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

/* Sizes of free memory are not known for explicit arenas. */
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
		/* In this order, because a block is allocated before it is freed. */
		lextent->ndalloc = mw_counters_read(&mw_counters.large_freed[i]);
		lextent->nmalloc = mw_counters_read(&mw_counters.large_made[i]);
		/* A thread without a heap cannot allocate, but may free. */
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
		/* The two counters are read one after the other. */
		if (class->nmalloc < class->curregs)
			class->nmalloc = class->curregs;
		class->ndalloc = class->nmalloc - class->curregs;
		class->nfills = counts.fills[c];
		class->nflushes = counts.flushes[c];
		class->nslabs = counts.pages[c] + mw_counters_read(&mw_counters.slabs[c]);
		class->nreslabs = counts.reclaimed[c];
		mw_lock_add_stats(mw_abandoned_lock(c), &class->lock);
		stats->small_nfills += class->nfills;
		stats->small_nflushes += class->nflushes;
		stats->small_nmalloc += class->nmalloc;
		stats->small_ndalloc += class->ndalloc;
	}
}

/* sum == NULL: resets the lock's statistics. */
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

/* `shown`: indexed by mw_ctl_lock_t, or NULL to reset all. */
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
	see_entered_lock(SUM(RECENT), mw_prof_recent_lock());
#undef SUM
}

int mw_ctl_at_mutexes_reset(mw_ctl_call_t *call) {
	(void)call;
	see_locks(NULL);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		mw_lock_reset_stats(mw_abandoned_lock(c), MW_RANK_ABANDONED);
	return 0;
}

static void read_background(mw_ctl_stats_t *stats) {
	mw_background_stats_t background = mw_background_stats();
	stats->background_threads = mw_background_is_running();
	stats->background_runs = background.turns;
	if (background.turns)
		stats->background_interval_ns = background.slept_ns / background.turns;
}

/* Computes all statistics. doc/reference/jemalloc.md defines each of them. */
static void take(mw_ctl_stats_t *stats) {
	static const mw_heap_walk_sink_t sink = {
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
	mw_heap_walk(&sink);
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
	/* Descriptors of the slices of a chunk. */
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

/* Computes the statistics of an arena's chunks, by the same walk as for the whole heap. */
static void take_arena(const mw_arena_t *arena, mw_ctl_stats_t *stats) {
	static const mw_heap_walk_sink_t sink = {
		.range = see_range,
		.size_class = see_class,
		.free_slices = see_free_bytes,
	};
	sums_t own = {.stats = stats};
	sums = &own;
	mw_heap_walk_arena(arena, &sink);
	sums = NULL;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_ctl_class_t *class = &stats->classes[c];
		class->ndalloc = __atomic_load_n(&arena->slabs[c].given, __ATOMIC_RELAXED);
		class->nmalloc = __atomic_load_n(&arena->slabs[c].taken, __ATOMIC_RELAXED);
		class->nslabs = mw_counters_read(&arena->slabs[c].made);
		stats->small_nmalloc += class->nmalloc;
		stats->small_ndalloc += class->ndalloc;
	}
	stats->large_allocated = mw_counters_read(&arena->large_bytes);
	stats->large_ndalloc = mw_counters_read(&arena->large_freed);
	stats->large_nmalloc = mw_counters_read(&arena->large_made);
	stats->allocated = stats->small_allocated + stats->large_allocated;
	stats->active = own.touched_bytes + stats->large_allocated;
	uint64_t chunks = mw_counters_read(&arena->chunk_count);
	uint64_t kept = mw_counters_read(&arena->dirty_slices) * MW_SLICE_BYTES +
			mw_counters_read(&arena->kept_bytes);
	stats->metadata = stats->metadata_edata = chunks * MW_CHUNK_META_BYTES;
	stats->resident = stats->active + kept + stats->metadata;
	stats->mapped = stats->resident;
	uint64_t space = chunks * MW_CHUNK_BYTES + mw_counters_read(&arena->huge_bytes) +
			 mw_counters_read(&arena->kept_bytes);
	stats->retained = space > stats->mapped ? space - stats->mapped : 0;
	stats->pactive = stats->active / MW_OS_PAGE_BYTES;
	stats->pdirty = kept / MW_OS_PAGE_BYTES;
	stats->purged_pages =
		mw_counters_read(&arena->purged_slices) * MW_SLICE_BYTES / MW_OS_PAGE_BYTES;
	stats->purges = mw_counters_read(&arena->purges);
	stats->purge_calls = mw_counters_read(&arena->purge_calls);
	stats->threads = atomic_load_explicit(&arena->threads, memory_order_relaxed);
	mw_lock_add_stats(&arena->lock, &stats->locks[MW_CTL_LOCK_CHUNKS]);
	stats->uptime_ns = mw_os_monotonic_ns() - arena->made_ns;
}

/* Called with the lock held. */
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
	ctl.made_sum.uptime_ns = 0; /* The sum must not reduce arena 0's time. */
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

/* Adds the counters of a destroyed arena; its live blocks count as freed. */
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

void mw_compat_fork_prepare(void) {
	mw_lock_fork_acquire(&ctl.lock);
}

void mw_compat_fork_release(bool child) {
	/* Threads inside do not exist in the child, so a sum of the child may lack a sample. */
	if (child)
		mw_lock_leave(mw_ctl_sums_lock());
	mw_lock_fork_release(&ctl.lock, child);
}

/* If no program has written "epoch" yet, the first read computes the statistics, as in jemalloc. */
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
	/* jemalloc's first number is 1. */
	call->value = 1 + atomic_load_explicit(&ctl.refreshes, memory_order_relaxed);
	return 0;
}

int mw_ctl_at_stat(mw_ctl_call_t *call) {
	call->value = load((const char *)&ctl.stats, call->argument);
	return 0;
}

/* NULL: the arena was created after the last "epoch". */
static const mw_ctl_stats_t *shown_of(size_t number) {
	/* Pairs with the store in take_made_arenas(). */
	return atomic_load_explicit(&ctl.made[number], memory_order_acquire);
}

/* Returns the word at `offset` of the arena's statistics. */
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

/* Reads a row of a table of the statistics. */
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

/* The length must be right, and there is never a new value, as in jemalloc. */
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
