/* SPDX-License-Identifier: MIT
 * arena.c -- the table of arenas. */
#include "heap/arena/arena.h"

#include <string.h>

#include "heap/arena/extent.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/memory/decay.h"
#include "heap/memory/meta.h"
#include "os/file/proc.h"
#include "os/time/clock.h"

static struct {
	mw_lock_t lock;
	/* Arenas by number; entry 0 is not used.  Release: an arena is ready when it can be found.
	 */
	_Atomic(mw_arena_t *) by_number[MW_ARENAS_MAX];
	mw_arena_t *ended[MW_ARENAS_MAX]; /* structures of destroyed arenas, to be used again */
} arenas MW_SPARSE;

_Atomic unsigned mw_arena_numbers;
_Atomic unsigned mw_arena_forks;

mw_arena_t *mw_arena_of(size_t number) {
	if (number == 0 || number >= MW_ARENAS_MAX)
		return NULL;
	/* Pairs with the store in mw_arena_create(). */
	return atomic_load_explicit(&arenas.by_number[number], memory_order_acquire);
}

/* Under the lock: returns the lowest number that was given and is free, or the next; 0: none. */
static unsigned free_number(void) {
	unsigned count = mw_arena_count();
	for (unsigned i = 1; i < count; i++)
		if (!mw_arena_of(i))
			return i;
	return count < MW_ARENAS_MAX ? count : 0;
}

/* Under the lock: sets all fields but the arena's own lock: another thread may be checking whether
 * the arena still exists. */
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
		/* Another thread may take the number while no lock is held. */
		fresh = mw_meta_alloc(sizeof *fresh);
		if (!fresh)
			return NULL;
	}
}

/* Waits for threads that purge the arena.  No other thread starts to purge it, because the arena
 * can no longer be found. */
static void wait_for_purge(mw_arena_t *arena) {
	mw_lock_acquire(&arena->lock, MW_RANK_ARENA);
	for (unsigned turn = 0; arena->purging > 0; turn++) {
		mw_lock_release(&arena->lock, MW_RANK_ARENA);
		mw_os_back_off(turn);
		mw_lock_acquire(&arena->lock, MW_RANK_ARENA);
	}
	mw_lock_release(&arena->lock, MW_RANK_ARENA);
}

void mw_arena_remove(mw_arena_t *arena) {
	mw_lock_acquire(&arenas.lock, MW_RANK_ARENAS);
	atomic_store_explicit(&arenas.by_number[arena->number], NULL, memory_order_relaxed);
	mw_lock_release(&arenas.lock, MW_RANK_ARENAS);
	wait_for_purge(arena);
	mw_arena_give_up_memory(arena);
	mw_lock_acquire(&arenas.lock, MW_RANK_ARENAS);
	arenas.ended[arena->number] = arena;
	mw_lock_release(&arenas.lock, MW_RANK_ARENAS);
}

/* ---- all of them ---- */

/* Calls `look` for each arena, with the table's lock. */
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
	/* Without the table's lock: functions of the program are called. */
	for (unsigned i = 1; i < mw_arena_count(); i++) {
		mw_arena_t *arena = mw_arena_of(i);
		if (arena)
			total += mw_arena_purge(arena, all);
	}
	return total;
}

/* Longest time that a fork waits for purging: a function of the program may never return. */
#define FORK_WAIT_NS UINT64_C(1000000000)

static void wait_for_fork(mw_arena_t *arena, uint64_t deadline_ns) {
	mw_lock_fork_acquire(&arena->lock);
	for (unsigned turn = 0; arena->purging > 0 && mw_os_monotonic_ns() < deadline_ns; turn++) {
		mw_lock_fork_release(&arena->lock, false);
		mw_os_back_off(turn);
		mw_lock_fork_acquire(&arena->lock);
	}
	mw_lock_fork_release(&arena->lock, false);
}

void mw_arena_fork_begin(void) {
	atomic_fetch_add_explicit(&mw_arena_forks, 1, memory_order_relaxed);
	/* A hook that calls fork() is itself part of a purge, and would wait for itself. */
	if (mw_extent_in_hook)
		return;
	uint64_t deadline_ns = mw_os_monotonic_ns() + FORK_WAIT_NS;
	for (unsigned i = 1; i < mw_arena_count(); i++) {
		mw_arena_t *arena = mw_arena_of(i);
		if (arena)
			wait_for_fork(arena, deadline_ns);
	}
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
	}
}

void mw_arena_fork_release(bool in_child) {
	for (unsigned i = 1; i < mw_arena_count(); i++) {
		mw_arena_t *arena = mw_arena_of(i);
		if (!arena)
			continue;
		/* A thread that is purging does not exist in the child. */
		if (in_child)
			arena->purging = 0;
		mw_lock_fork_release(&arena->lock, in_child);
		for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
			mw_lock_fork_release(&arena->slabs[c].lock, in_child);
	}
	mw_lock_fork_release(&arenas.lock, in_child);
	if (in_child)
		atomic_store_explicit(&mw_arena_forks, 0, memory_order_relaxed);
	else
		atomic_fetch_sub_explicit(&mw_arena_forks, 1, memory_order_relaxed);
}
