/* SPDX-License-Identifier: MIT
 * arena.c -- the table of arenas; their making, reset and end. */
#include "heap/arena/arena.h"

#include <string.h>

#include "heap/core/heap.h"
#include "heap/large/huge.h"
#include "heap/layout/counters.h"
#include "heap/layout/slices.h"
#include "heap/local/head.h"
#include "heap/memory/chunk.h"
#include "heap/memory/decay.h"
#include "heap/memory/meta.h"
#include "heap/sample/sampling.h"
#include "os/file/proc.h"
#include "os/time/clock.h"

static struct {
	mw_lock_t lock;
	/* By number, 0 is never used.  Release: an arena is ready when it can be found. */
	_Atomic(mw_arena_t *) by_number[MW_ARENAS_MAX];
	mw_arena_t *ended[MW_ARENAS_MAX]; /* structures of destroyed ones, to be used again */
} arenas MW_SPARSE;

_Atomic unsigned mw_arena_numbers;

mw_arena_t *mw_arena_of(size_t number) {
	if (number == 0 || number >= MW_ARENAS_MAX)
		return NULL;
	/* Pairs with the store in mw_arena_create(). */
	return atomic_load_explicit(&arenas.by_number[number], memory_order_acquire);
}

/* Under the lock: the lowest number that was given and is free, or the next; 0: none. */
static unsigned free_number(void) {
	unsigned count = mw_arena_count();
	for (unsigned i = 1; i < count; i++)
		if (!mw_arena_of(i))
			return i;
	return count < MW_ARENAS_MAX ? count : 0;
}

/* Under the lock.  All but its own lock: another thread may just look whether it is still there. */
static void start(mw_arena_t *arena, unsigned number, mw_extent_hooks_t *hooks) {
	memset(&arena->number, 0, sizeof *arena - offsetof(mw_arena_t, number));
	arena->number = number;
	arena->hooks = hooks ? hooks : &mw_extent_default_hooks;
	arena->decay_ms = MW_DECAY_DEFAULT_NS / 1000000u;
	arena->purge_due_ns = UINT64_MAX;
	arena->made_ns = mw_os_monotonic_ns();
	arenas.ended[number] = NULL;
	if (number == mw_arena_count())
		atomic_store_explicit(&mw_arena_numbers, number, memory_order_relaxed);
	/* Pairs with the load in mw_arena_of(). */
	atomic_store_explicit(&arenas.by_number[number], arena, memory_order_release);
}

mw_arena_t *mw_arena_create(mw_extent_hooks_t *hooks) {
	mw_arena_t *fresh = NULL;
	for (;;) {
		mw_lock_acquire(&arenas.lock, MW_RANK_ARENAS);
		unsigned number = free_number();
		mw_arena_t *arena = number && arenas.ended[number] ? arenas.ended[number] : fresh;
		if (number && arena)
			start(arena, number, hooks);
		mw_lock_release(&arenas.lock, MW_RANK_ARENAS);
		if (number == 0)
			return NULL;
		if (arena)
			return arena;
		/* Another thread may take the number meanwhile. */
		fresh = mw_meta_alloc(sizeof *fresh);
		if (!fresh)
			return NULL;
	}
}

/* ---- reset and end ---- */

static void drop_record(mw_record_id_t record) {
	mw_sampling_freed(record);
}

static void drop_page(mw_arena_t *arena, mw_page_t *page) {
	if (page->kind == MW_PAGE_SAMPLED) {
		mw_sampled_visit_records(page, drop_record);
	} else {
		if (page->large_record)
			drop_record(page->large_record);
		mw_arena_count_large(arena, page->large_bytes, false);
	}
	mw_arena_give(page, MW_PAGE_NONE);
}

void mw_arena_reset(mw_arena_t *arena) {
	for (mw_chunk_t *chunk = arena->chunks; chunk; chunk = chunk->all_next) {
		for (unsigned i = 1; i < MW_CHUNK_SLICES; i++) {
			mw_page_t *page = mw_chunk_page(chunk, i);
			if (page->kind == MW_PAGE_SAMPLED || page->kind == MW_PAGE_LARGE)
				drop_page(arena, page);
		}
	}
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_slabs_t *slabs = &arena->slabs[c];
		slabs->with_room = (mw_page_queue_t){0};
		slabs->given = slabs->taken;
	}
	mw_huge_block_t block;
	while (mw_huge_take_of_arena(arena->number, &block)) {
		if (block.record)
			drop_record(block.record);
		mw_arena_count_large(arena, block.bytes, false);
		mw_arena_unmap(arena->number, (void *)block.base, block.bytes);
	}
}

/* It cannot be found any more: whoever does not purge it now never will. */
static void wait_for_purge(mw_arena_t *arena) {
	mw_lock_acquire(&arena->lock, MW_RANK_ARENA);
	for (unsigned turn = 0; arena->purging > 0; turn++) {
		mw_lock_release(&arena->lock, MW_RANK_ARENA);
		mw_os_back_off(turn);
		mw_lock_acquire(&arena->lock, MW_RANK_ARENA);
	}
	mw_lock_release(&arena->lock, MW_RANK_ARENA);
}

bool mw_arena_destroy(mw_arena_t *arena) {
	if (atomic_load_explicit(&arena->threads, memory_order_relaxed) > 0)
		return false;
	mw_arena_reset(arena);
	mw_lock_acquire(&arenas.lock, MW_RANK_ARENAS);
	atomic_store_explicit(&arenas.by_number[arena->number], NULL, memory_order_relaxed);
	mw_lock_release(&arenas.lock, MW_RANK_ARENAS);
	wait_for_purge(arena);
	mw_arena_give_up_memory(arena);
	mw_lock_acquire(&arenas.lock, MW_RANK_ARENAS);
	arenas.ended[arena->number] = arena;
	mw_lock_release(&arenas.lock, MW_RANK_ARENAS);
	return true;
}

/* ---- threads ---- */

MW_SPARSE mw_arena_t mw_arena_watched;
bool mw_arena_watches;

void mw_arena_watch(void) {
	mw_arena_watches = true;
	if (mw_thread.heap)
		mw_arena_bind(NULL);
}

bool mw_arena_bind(mw_arena_t *arena) {
	mw_heap_t *heap = mw_heap_self();
	if (!heap)
		return false;
	if (MW_UNLIKELY(mw_arena_watches) && !arena && !mw_thread.ended)
		arena = &mw_arena_watched;
	mw_heap_take_rate(); /* what its list heads hold is of where it was bound before */
	if (heap->arena)
		atomic_fetch_sub_explicit(&heap->arena->threads, 1, memory_order_relaxed);
	if (arena)
		atomic_fetch_add_explicit(&arena->threads, 1, memory_order_relaxed);
	heap->arena = arena;
	/* Heads that stay empty lead each allocation to the slow path: nothing is pushed onto lists
	 * of no length, and those cut are not refilled.  Countdowns are drawn anew: no memory. */
	mw_head_start(heap);
	heap->cut = arena ? UINT32_MAX : 0;
	memset(heap->left, 0, sizeof heap->left);
	return true;
}

/* ---- all of them ---- */

/* With the table's lock. */
static void visit(void (*look)(mw_arena_t *arena, void *context), void *context) {
	mw_lock_acquire(&arenas.lock, MW_RANK_ARENAS);
	for (unsigned i = 1; i < mw_arena_count(); i++) {
		mw_arena_t *arena = mw_arena_of(i);
		if (arena)
			look(arena, context);
	}
	mw_lock_release(&arenas.lock, MW_RANK_ARENAS);
}

typedef struct chunk_visitor {
	void (*visit)(const mw_chunk_t *chunk, void *context);
	void *context;
} chunk_visitor_t;

static void visit_chunks(mw_arena_t *arena, void *context) {
	const chunk_visitor_t *visitor = context;
	mw_lock_acquire(&arena->lock, MW_RANK_ARENA);
	for (mw_chunk_t *chunk = arena->chunks; chunk; chunk = chunk->all_next)
		visitor->visit(chunk, visitor->context);
	mw_lock_release(&arena->lock, MW_RANK_ARENA);
}

void mw_arena_visit_chunks_slow(void (*look)(const mw_chunk_t *chunk, void *context),
				void *context) {
	chunk_visitor_t visitor = {look, context};
	visit(visit_chunks, &visitor);
}

static void add_totals(mw_arena_t *arena, void *context) {
	mw_arena_totals_t *totals = context;
	totals->mapped_bytes += arena->chunk_count * MW_CHUNK_BYTES + arena->kept_bytes;
	totals->in_use_bytes += arena->slices_in_use * MW_SLICE_BYTES;
	totals->dirty_bytes += arena->dirty_slices * MW_SLICE_BYTES + arena->kept_bytes;
	totals->purged_bytes += arena->purged_slices * MW_SLICE_BYTES;
}

mw_arena_totals_t mw_arena_totals_slow(void) {
	mw_arena_totals_t totals = {0};
	visit(add_totals, &totals);
	return totals;
}

size_t mw_arena_purge_each_slow(bool all) {
	size_t total = 0;
	/* Not with the table's lock: programs' functions are called. */
	for (unsigned i = 1; i < mw_arena_count(); i++) {
		mw_arena_t *arena = mw_arena_of(i);
		if (arena)
			total += mw_arena_purge(arena, all);
	}
	return total;
}

void mw_arena_fork_prepare(void) {
	mw_lock_fork_acquire(&arenas.lock);
	for (unsigned i = 1; i < mw_arena_count(); i++) {
		mw_arena_t *arena = mw_arena_of(i);
		if (!arena)
			continue;
		for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
			mw_lock_fork_acquire(&arena->slabs[c].lock);
		mw_lock_fork_acquire(&arena->lock);
		/* As in chunk.c: who is just purging would leave its slices taken in the child. */
		for (unsigned turn = 0; arena->purging > 0; turn++) {
			mw_lock_fork_release(&arena->lock, false);
			mw_os_back_off(turn);
			mw_lock_fork_acquire(&arena->lock);
		}
	}
}

void mw_arena_fork_release(bool in_child) {
	for (unsigned i = 1; i < mw_arena_count(); i++) {
		mw_arena_t *arena = mw_arena_of(i);
		if (!arena)
			continue;
		mw_lock_fork_release(&arena->lock, in_child);
		for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
			mw_lock_fork_release(&arena->slabs[c].lock, in_child);
	}
	mw_lock_fork_release(&arenas.lock, in_child);
}
