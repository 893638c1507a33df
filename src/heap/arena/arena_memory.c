/* SPDX-License-Identifier: MIT
 * arena_memory.c -- chunks and extents of one arena.  First fit: an arena has few chunks. */
#include <string.h>

#include "heap/arena/arena.h"
#include "heap/arena/extent.h"
#include "heap/layout/page.h"
#include "heap/layout/slices.h"
#include "heap/memory/limit.h"
#include "heap/memory/meta.h"
#include "os/memory/numa.h"
#include "os/time/clock.h"

/* All slices but the first, which holds the metadata. */
#define USABLE_SLICES (~(uint64_t)1)

_Atomic size_t mw_arena_slices_in_use;

static mw_extent_hooks_t *hooks_of(mw_arena_t *arena) {
	return atomic_load_explicit(&arena->hooks, memory_order_relaxed);
}

static void lock_arena(mw_arena_t *arena) {
	mw_lock_acquire(&arena->lock, MW_RANK_ARENA);
}

static void unlock_arena(mw_arena_t *arena) {
	mw_lock_release(&arena->lock, MW_RANK_ARENA);
}

static void add(_Atomic uint64_t *counter, uint64_t by) {
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static void clear_metadata(mw_chunk_t *chunk) {
	mw_page_t *pages = mw_chunk_page(chunk, 0);
	/* The record, and the class bytes behind it. */
	memset(chunk, 0, MW_CHUNK_ENTRIES_OFFSET);
	memset(mw_page_entry(pages), 0, MW_CHUNK_SLICES * sizeof(mw_entry_t));
	memset(pages, 0, MW_CHUNK_SLICES * sizeof(mw_page_t));
}

static bool make_chunk(mw_arena_t *arena) {
	bool zeroed;
	mw_chunk_t *chunk = mw_extent_map(hooks_of(arena), arena->number, MW_CHUNK_BYTES,
					  MW_CHUNK_BYTES, &zeroed);
	if (!chunk)
		return false;
	if (!zeroed)
		clear_metadata(chunk);
	chunk->free_mask = USABLE_SLICES;
	chunk->touched_mask = zeroed ? 0 : USABLE_SLICES;
	chunk->node = MW_OS_NUMA_ANY;
	chunk->arena = arena;
	uint8_t *kind = &mw_address_map[(uintptr_t)chunk >> MW_CHUNK_SHIFT];
	/* The program's function may have allocated the extent from this heap. */
	chunk->kind_before = *kind;
	__atomic_store_n(kind, MW_MAP_CHUNK, __ATOMIC_RELAXED);
	lock_arena(arena);
	chunk->all_next = arena->chunks;
	arena->chunks = chunk;
	unlock_arena(arena);
	add(&arena->chunk_count, 1);
	return true;
}

/* Under the lock. */
static mw_chunk_t *find_slices(mw_arena_t *arena, unsigned count, unsigned align, unsigned *first) {
	for (mw_chunk_t *chunk = arena->chunks; chunk; chunk = chunk->all_next) {
		*first = mw_slices_find(chunk->free_mask, count, align);
		if (*first != 64)
			return chunk;
	}
	return NULL;
}

static bool commit_run(mw_arena_t *arena, mw_chunk_t *chunk, unsigned first, unsigned count) {
	mw_extent_t extent = {chunk, MW_CHUNK_BYTES};
	return mw_extent_commit(hooks_of(arena), arena->number, &extent, first * MW_SLICE_BYTES,
				count * MW_SLICE_BYTES);
}

static mw_page_t *take_slices(mw_arena_t *arena, unsigned count, unsigned align_slices) {
	unsigned first;
	lock_arena(arena);
	mw_chunk_t *chunk = find_slices(arena, count, align_slices, &first);
	if (!chunk) {
		unlock_arena(arena);
		if (!make_chunk(arena))
			return NULL;
		lock_arena(arena);
		chunk = find_slices(arena, count, align_slices, &first);
	}
	if (!chunk) { /* another thread has taken the new chunk's slices */
		unlock_arena(arena);
		return NULL;
	}
	uint64_t run = mw_slices_mask(first, count);
	bool zeroed = !(chunk->touched_mask & run), decommitted = chunk->decommitted_mask & run;
	uint64_t dirty = (uint64_t)__builtin_popcountll(chunk->dirty_mask & run);
	chunk->free_mask &= ~run;
	chunk->dirty_mask &= ~run;
	chunk->muzzy_mask &= ~run;
	chunk->pinned_mask &= ~run;
	chunk->decommitted_mask &= ~run;
	chunk->touched_mask |= run;
	unlock_arena(arena);
	add(&arena->dirty_slices, -dirty);
	add(&arena->slices_in_use, count);
	atomic_fetch_add_explicit(&mw_arena_slices_in_use, count, memory_order_relaxed);
	mw_page_t *page = mw_slices_init_page(chunk, first, count, zeroed);
	if (!decommitted || commit_run(arena, chunk, first, count))
		return page;
	mw_arena_give(page, MW_PAGE_NONE);
	return NULL;
}

static void purge_if_due(mw_arena_t *arena) {
	/* Relaxed: a purge may be late. */
	uint64_t due_ns = atomic_load_explicit(&arena->purge_due_ns, memory_order_relaxed);
	if (due_ns != UINT64_MAX && mw_os_monotonic_coarse_ns() >= due_ns)
		mw_arena_purge(arena, false);
}

mw_page_t *mw_arena_take(mw_arena_t *arena, unsigned count, unsigned align_slices) {
	purge_if_due(arena);
	bool counted;
	if (!mw_limit_begin(count * MW_SLICE_BYTES, &counted))
		return NULL;
	mw_page_t *page = take_slices(arena, count, align_slices);
	mw_limit_end(count * MW_SLICE_BYTES, counted);
	return page;
}

/* Under the lock. */
static void set_due(mw_arena_t *arena) {
	int64_t ms = atomic_load_explicit(&arena->decay_ms, memory_order_relaxed);
	uint64_t due_ns =
		ms < 0 ? UINT64_MAX : mw_os_monotonic_coarse_ns() + (uint64_t)ms * 1000000u;
	if (due_ns < atomic_load_explicit(&arena->purge_due_ns, memory_order_relaxed))
		atomic_store_explicit(&arena->purge_due_ns, due_ns, memory_order_relaxed);
}

void mw_arena_give(mw_page_t *page, mw_page_kind_t kind) {
	mw_chunk_t *chunk = mw_chunk_of(page);
	mw_arena_t *arena = chunk->arena;
	unsigned count = page->slice_count;
	uint64_t run = mw_slices_mask(mw_page_slice_index(page), count);
	lock_arena(arena);
	mw_slices_end_page(page, kind);
	chunk->free_mask |= run;
	chunk->dirty_mask |= run;
	set_due(arena);
	unlock_arena(arena);
	add(&arena->dirty_slices, count);
	add(&arena->slices_in_use, -(uint64_t)count);
	atomic_fetch_sub_explicit(&mw_arena_slices_in_use, count, memory_order_relaxed);
	purge_if_due(arena);
}

/* Slices that count as taken while they are purged: those that read as zero now, and those that
 * must be committed before use. */
typedef struct purged {
	uint64_t zero, decommitted, muzzy, pinned, any;
	unsigned calls;
} purged_t;

static purged_t purge_slices(mw_arena_t *arena, mw_chunk_t *chunk, uint64_t slices) {
	purged_t purged = {0};
	mw_extent_t extent = {chunk, MW_CHUNK_BYTES};
	while (slices) {
		unsigned count, first = mw_slices_first_run(slices, &count);
		uint64_t run = mw_slices_mask(first, count);
		slices &= ~run;
		purged.calls++;
		switch (mw_extent_purge(hooks_of(arena), arena->number, &extent,
					first * MW_SLICE_BYTES, count * MW_SLICE_BYTES)) {
		case MW_EXTENT_DECOMMITTED:
			purged.decommitted |= run;
			break;
		case MW_EXTENT_ZERO:
			purged.zero |= run;
			break;
		case MW_EXTENT_KEPT:
			purged.pinned |= run;
			continue;
		case MW_EXTENT_LAZY:
			purged.muzzy |= run;
			break;
		}
		purged.any |= run;
	}
	return purged;
}

/* Under the lock, which it releases meanwhile.  Slices that the hooks refuse are not tried again
 * before their next use. */
static size_t purge_chunk(mw_arena_t *arena, mw_chunk_t *chunk) {
	uint64_t dirty = chunk->dirty_mask;
	if (!dirty)
		return 0;
	chunk->free_mask &= ~dirty;
	chunk->dirty_mask = 0;
	unlock_arena(arena);
	purged_t purged = purge_slices(arena, chunk, dirty);
	lock_arena(arena);
	chunk->free_mask |= dirty;
	chunk->touched_mask &= ~purged.zero;
	chunk->decommitted_mask |= purged.decommitted;
	chunk->muzzy_mask |= purged.muzzy;
	chunk->pinned_mask |= purged.pinned;
	size_t slices = (size_t)__builtin_popcountll(purged.any);
	add(&arena->dirty_slices, -(uint64_t)__builtin_popcountll(dirty));
	add(&arena->purged_slices, slices);
	add(&arena->purges, 1);
	add(&arena->purge_calls, purged.calls);
	return slices * MW_SLICE_BYTES;
}

size_t mw_arena_purge(mw_arena_t *arena, bool all) {
	size_t total = 0;
	lock_arena(arena);
	uint64_t due_ns = atomic_load_explicit(&arena->purge_due_ns, memory_order_relaxed);
	/* The arena may no longer exist, because threads that are not bound to it purge it, too. */
	bool there = mw_arena_of(arena->number) == arena;
	/* Relaxed: both sides hold the arena's lock between their accesses to the two counts. */
	bool forks = atomic_load_explicit(&mw_arena_forks, memory_order_relaxed) > 0;
	if (there && !forks &&
	    (all || (due_ns != UINT64_MAX && mw_os_monotonic_coarse_ns() >= due_ns))) {
		/* Slices that become dirty meanwhile set the time again. */
		atomic_store_explicit(&arena->purge_due_ns, UINT64_MAX, memory_order_relaxed);
		arena->purging++;
		for (mw_chunk_t *chunk = arena->chunks; chunk; chunk = chunk->all_next)
			total += purge_chunk(arena, chunk);
		arena->purging--;
	}
	unlock_arena(arena);
	return total;
}

void mw_arena_set_decay(mw_arena_t *arena, int64_t ms) {
	atomic_store_explicit(&arena->decay_ms, ms, memory_order_relaxed);
	lock_arena(arena);
	atomic_store_explicit(&arena->purge_due_ns, UINT64_MAX, memory_order_relaxed);
	if (arena->dirty_slices)
		set_due(arena);
	unlock_arena(arena);
	purge_if_due(arena);
}

/* ---- extents of huge blocks ---- */

/* Takes a kept extent, if it fits and would not be half empty. */
static void *take_kept(mw_arena_t *arena, size_t bytes, size_t align) {
	lock_arena(arena);
	mw_kept_extent_t *kept = arena->kept;
	for (; kept; kept = kept->next)
		if (kept->extent.base && !kept->in_use && kept->extent.bytes >= bytes &&
		    kept->extent.bytes / 2 <= bytes && (uintptr_t)kept->extent.base % align == 0)
			break;
	if (kept) {
		kept->in_use = true;
		add(&arena->kept_bytes, -(uint64_t)kept->extent.bytes);
	}
	unlock_arena(arena);
	return kept ? kept->extent.base : NULL;
}

/* Under the lock: the entry of an extent, or a free one (base NULL); NULL: there is none. */
static mw_kept_extent_t *place_of(const mw_arena_t *arena, const void *base) {
	mw_kept_extent_t *place = arena->kept;
	while (place && place->extent.base != base)
		place = place->next;
	return place;
}

/* Keeps an extent that the hooks refused.  Without memory for an entry it is lost until the arena's
 * end. */
static void keep(mw_arena_t *arena, const mw_extent_t *extent) {
	lock_arena(arena);
	mw_kept_extent_t *place = place_of(arena, extent->base);
	if (!place)
		place = place_of(arena, NULL);
	if (!place) {
		unlock_arena(arena);
		place = mw_meta_alloc(sizeof *place);
		if (!place)
			return;
		lock_arena(arena);
		place->next = arena->kept;
		arena->kept = place;
	}
	place->extent = *extent;
	place->in_use = false;
	unlock_arena(arena);
	add(&arena->kept_bytes, extent->bytes);
}

/* Returns the extent in which a block of `bytes` lies. */
static mw_extent_t whole_extent(mw_arena_t *arena, void *base, size_t bytes) {
	lock_arena(arena);
	const mw_kept_extent_t *kept = place_of(arena, base);
	mw_extent_t extent = kept ? kept->extent : (mw_extent_t){base, bytes};
	unlock_arena(arena);
	return extent;
}

static void forget_kept(mw_arena_t *arena, const void *base) {
	lock_arena(arena);
	mw_kept_extent_t *kept = place_of(arena, base);
	if (kept)
		kept->extent.base = NULL;
	unlock_arena(arena);
}

void *mw_arena_map(mw_arena_t *arena, size_t bytes, size_t align, bool *zeroed) {
	*zeroed = false;
	void *base = take_kept(arena, bytes, align);
	if (!base)
		base = mw_extent_map(hooks_of(arena), arena->number, bytes, align, zeroed);
	if (base)
		add(&arena->huge_bytes, bytes);
	return base;
}

void mw_arena_unmap(unsigned number, void *base, size_t bytes) {
	mw_arena_t *arena = mw_arena_of(number);
	mw_extent_t extent = whole_extent(arena, base, bytes);
	add(&arena->huge_bytes, -(uint64_t)bytes);
	if (mw_extent_unmap(hooks_of(arena), number, &extent))
		forget_kept(arena, base);
	else
		keep(arena, &extent);
}

/* ---- the arena's end: no thread uses it ---- */

static void give_back(mw_arena_t *arena, const mw_extent_t *extent) {
	if (!mw_extent_unmap(hooks_of(arena), arena->number, extent))
		mw_extent_destroy(hooks_of(arena), arena->number, extent);
}

void mw_arena_give_up_memory(mw_arena_t *arena) {
	mw_chunk_t *next;
	for (mw_chunk_t *chunk = arena->chunks; chunk; chunk = next) {
		next = chunk->all_next;
		__atomic_store_n(&mw_address_map[(uintptr_t)chunk >> MW_CHUNK_SHIFT],
				 chunk->kind_before, __ATOMIC_RELAXED);
		mw_extent_t extent = {chunk, MW_CHUNK_BYTES};
		give_back(arena, &extent);
	}
	arena->chunks = NULL;
	for (mw_kept_extent_t *kept = arena->kept; kept; kept = kept->next) {
		if (kept->extent.base)
			mw_extent_destroy(hooks_of(arena), arena->number, &kept->extent);
		kept->extent.base = NULL;
	}
}
