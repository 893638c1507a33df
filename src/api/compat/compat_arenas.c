/* SPDX-License-Identifier: MIT
 * compat_arenas.c -- functions for other libraries about arenas. */
#include <stdatomic.h>
#include <string.h>

#include "api/alloc.h"
#include "api/compat/compat_parts.h"
#include "heap/arena/arena.h"
#include "heap/core/arena_blocks.h"
#include "heap/core/lookup.h"
#include "heap/large/huge.h"
#include "heap/memory/meta.h"
#include "heap/thread/binding.h"
#include "heap/thread/thread.h"

_Static_assert(MW_COMPAT_ARENAS_MAX == MW_ARENAS_MAX, "other libraries know it by another name");

static unsigned count(void) {
	return mw_arena_count();
}

static unsigned create(mw_extent_hooks_t *hooks) {
	mw_arena_t *arena = mw_arena_create(hooks);
	return arena ? arena->number : 0;
}

static void reset(unsigned number) {
	mw_arena_reset(mw_arena_of(number));
}

static bool destroy(unsigned number) {
	return mw_arena_destroy(mw_arena_of(number));
}

static bool is_unused(unsigned number) {
	mw_arena_t *arena = mw_arena_of(number);
	return atomic_load_explicit(&arena->threads, memory_order_relaxed) == 0 &&
	       mw_arena_is_empty(arena);
}

static void purge(unsigned number, bool all) {
	mw_arena_purge(mw_arena_of(number), all);
}

static void set_decay(unsigned number, int64_t ms) {
	mw_arena_t *arena = mw_arena_of(number);
	if (arena)
		mw_arena_set_decay(arena, ms);
}

static bool bind_thread(unsigned number) {
	return mw_arena_bind(mw_arena_of(number));
}

static unsigned bound(void) {
	const mw_heap_t *heap = mw_thread.heap;
	return heap && heap->arena ? heap->arena->number : 0;
}

static int of_block(const void *block) {
	if (!mw_lookup_is_block(block))
		return -1;
	mw_huge_block_t huge;
	if (mw_word_kind((uintptr_t)block) == MW_MAP_HUGE)
		return mw_huge_find(block, &huge) ? (int)huge.arena : 0;
	return (int)mw_heap_arena_of(block);
}

static bool is_sparse(const void *block, size_t percent) {
	if (mw_word_kind((uintptr_t)block) != MW_MAP_CHUNK)
		return false;
	const mw_page_t *page = mw_page_first(mw_page_of_slice((uintptr_t)block));
	if (page->kind != MW_PAGE_SMALL && page->kind != MW_PAGE_SAMPLED)
		return false;
	return (uint64_t)page->used * 100 < (uint64_t)page->capacity * percent;
}

static bool walk(unsigned number, bool blocks, mw_arena_visit_t *visit, void *context) {
	return mw_arena_walk(mw_arena_of(number), blocks, visit, context);
}

static uint64_t relaxed(const _Atomic uint64_t *value) {
	return atomic_load_explicit(value, memory_order_relaxed);
}

static void arena_stats(unsigned number, mw_compat_arena_stats_t *stats) {
	const mw_arena_t *arena = mw_arena_of(number);
	*stats = (mw_compat_arena_stats_t){
		.large_made = relaxed(&arena->large_made),
		.large_bytes = relaxed(&arena->large_bytes),
		.huge_bytes = relaxed(&arena->huge_bytes),
		.kept_bytes = relaxed(&arena->kept_bytes),
		.chunks = relaxed(&arena->chunk_count),
		.slices_in_use = relaxed(&arena->slices_in_use),
		.dirty_slices = relaxed(&arena->dirty_slices),
		.purged_slices = relaxed(&arena->purged_slices),
		.purges = relaxed(&arena->purges),
		.purge_calls = relaxed(&arena->purge_calls),
	};
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		const mw_slabs_t *slabs = &arena->slabs[c];
		stats->taken[c] = __atomic_load_n(&slabs->taken, __ATOMIC_RELAXED);
		stats->given[c] = __atomic_load_n(&slabs->given, __ATOMIC_RELAXED);
		stats->pages_made += relaxed(&slabs->made);
	}
}

static mw_arena_lists_t *keep_lists(mw_arena_lists_t *lists, unsigned number) {
	if (!lists)
		lists = mw_meta_alloc(sizeof *lists);
	if (lists)
		mw_arena_lists_start(lists, mw_arena_of(number));
	return lists;
}

static bool lists_are_own(const mw_arena_lists_t *lists) {
	return mw_arena_lists_are_own(lists);
}

static void *alloc_listed_at_once(mw_arena_lists_t *lists, size_t bytes) {
	return MW_LIKELY(mw_arena_lists_are_own(lists)) ? mw_arena_lists_pop(lists, bytes) : NULL;
}

static void *alloc_listed(mw_arena_lists_t *lists, size_t bytes) {
	return mw_arena_lists_are_own(lists) ? mw_api_alloc_listed(lists, bytes) : NULL;
}

static void release_lists(mw_arena_lists_t *lists) {
	lists->owner = 0;
}

void mw_compat_fill_arenas(volatile mw_compat_arenas_t *arenas) {
	arenas->count = count;
	arenas->create = create;
	arenas->reset = reset;
	arenas->destroy = destroy;
	arenas->is_unused = is_unused;
	arenas->purge = purge;
	arenas->set_decay = set_decay;
	arenas->bind = bind_thread;
	arenas->bound = bound;
	arenas->of_block = of_block;
	arenas->is_sparse = is_sparse;
	arenas->walk = walk;
	arenas->stats = arena_stats;
	arenas->keep_lists = keep_lists;
	arenas->lists_are_own = lists_are_own;
	arenas->alloc_listed_at_once = alloc_listed_at_once;
	arenas->alloc_listed = alloc_listed;
	arenas->flush_lists = mw_arena_lists_flush;
	arenas->release_lists = release_lists;
}
