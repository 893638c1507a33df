/* SPDX-License-Identifier: MIT
 * mappings.c -- applies changes of the address space to the ranges and to the counters of their
 * stacks. */
#include "prof/mappings/mappings.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "os/file/proc.h"
#include "os/memory/map.h"
#include "os/time/clock.h"
#include "prof/mappings/interval_tree.h"
#include "prof/modules/modules.h"
#include "prof/store/store.h"
#include "prof/table/depot.h"

/* Nodes of 64 bytes, whose pages are touched when used. Linux allows a process 65530 mappings
 * (vm.max_map_count), and joins neighbours, so that the program may have made more. */
#define NODES_LOG2 17u
/* Tried when the kernel refuses, as with RLIMIT_AS. */
#define NODES_LEAST_LOG2 12u
/* Changes of signal handlers that wait. Handlers seldom map memory. */
#define WAITING_MAX 16u
#define WAITING_DEPTH_MAX 48u
/* Longest wait for the lock. A change takes microseconds. */
#define LOCK_MAX_NS UINT64_C(1000000000)
#define ALL_KINDS ((1u << MW_MAPPING_KINDS) - 1)

_Atomic unsigned mw_mappings_uses;

static struct {
	_Atomic uintptr_t owner; /* thread pointer of the holder; 0: nobody */
	_Atomic uint64_t number;
	_Atomic uint64_t lost;
	_Atomic uint64_t bytes; /* mapped since the start */
	mw_interval_tree_t tree;
} mappings;

/* A change that waits, and its stack. EMPTY -> FILLING -> READY -> EMPTY. */
enum { EMPTY, FILLING, READY };
typedef struct waiting {
	_Atomic uint32_t state;
	mw_mapping_change_t change;
	unsigned depth;
	bool truncated;
	uint64_t frames[WAITING_DEPTH_MAX];
} waiting_t;
static waiting_t waiting[WAITING_MAX] MW_SPARSE;
static _Atomic uint32_t waiting_count;

/* ---- the lock ---- */

static uintptr_t self(void) {
	return (uintptr_t)__builtin_thread_pointer();
}

/* Returns false if this thread holds the lock, in code that the caller interrupted, or if the
 * holder does not come back: a handler left it by longjmp. Recording ends in that case. */
static bool lock(void) {
	uint64_t deadline_ns = 0;
	uintptr_t nobody = 0;
	/* Pairs with the release in unlock(). */
	for (unsigned attempt = 0; !atomic_compare_exchange_weak_explicit(
		     &mappings.owner, &nobody, self(), memory_order_acquire, memory_order_relaxed);
	     attempt++) {
		if (nobody == self())
			return false;
		nobody = 0;
		uint64_t now_ns = mw_os_monotonic_ns();
		if (deadline_ns == 0)
			deadline_ns = now_ns + LOCK_MAX_NS;
		if (now_ns >= deadline_ns) {
			atomic_fetch_and_explicit(&mw_mappings_uses, ~MW_MAPPINGS_RECORDED,
						  memory_order_relaxed);
			return false;
		}
		mw_os_back_off(attempt);
	}
	return true;
}

static void unlock(void) {
	atomic_store_explicit(&mappings.owner, 0, memory_order_release);
}

static void count_lost(void) {
	atomic_fetch_add_explicit(&mappings.lost, 1, memory_order_relaxed);
}

uint64_t mw_mappings_lost(void) {
	return atomic_load_explicit(&mappings.lost, memory_order_relaxed);
}

uint64_t mw_mappings_bytes(void) {
	return atomic_load_explicit(&mappings.bytes, memory_order_relaxed);
}

uint64_t mw_mappings_next_number(void) {
	return atomic_fetch_add_explicit(&mappings.number, 1, memory_order_relaxed) + 1;
}

/* ---- counters ---- */

static uint32_t generation(void) {
	return atomic_load_explicit(&mw_store_live()->generation, memory_order_relaxed);
}

static void count(uint32_t stack, int64_t objects, int64_t bytes) {
	mw_both_t both = mw_store_both(MW_SECTION_STACKS, stack);
	mw_both_add(both, MW_STACK(live_objects_q16), objects * 65536);
	mw_both_add(both, MW_STACK(live_bytes), bytes);
	if (objects > 0 && bytes > 0) {
		mw_both_add(both, MW_STACK(alloc_objects_q16), objects * 65536);
		mw_both_add(both, MW_STACK(alloc_bytes), bytes);
	}
}

/* A range that was made before the last reset does not count. */
static void on_removed(const mw_interval_t *part, int change) {
	if (part->stack && part->generation == generation())
		count(part->stack, change, -(int64_t)(part->limit - part->start));
}

/* ---- changes; with the lock ---- */

static bool has_memory(void) {
	mw_interval_tree_t *tree = &mappings.tree;
	for (unsigned log2 = NODES_LOG2; !tree->nodes && log2 >= NODES_LEAST_LOG2; log2 -= 5) {
		void *base = mw_os_map(sizeof *tree->nodes << log2);
		if (base) {
			tree->nodes = base;
			tree->capacity = 1u << log2;
		}
	}
	return tree->nodes != NULL;
}

static void cut(uint64_t start, uint64_t limit, uint64_t before, uint32_t kinds) {
	mw_intervals_cut(&mappings.tree, &(mw_interval_cut_t){.start = start,
							      .limit = limit,
							      .before = before,
							      .kinds = kinds,
							      .removed = on_removed});
}

/* Adds what no newer call has mapped meanwhile. */
static void add(const mw_mapping_change_t *change, uint32_t stack) {
	mw_interval_t interval = {.whole_limit = change->limit,
				  .number = change->number,
				  .stack = stack,
				  .generation = generation(),
				  .kind = change->kind};
	int64_t objects = 0, bytes = 0;
	for (uint64_t from = change->start; from < change->limit;) {
		const mw_interval_t *next = mw_intervals_next(&mappings.tree, from);
		bool is_inside = next && next->start < change->limit;
		uint64_t after = is_inside ? next->limit : change->limit;
		interval.start = from;
		interval.limit = is_inside ? next->start : change->limit;
		from = after;
		if (interval.limit <= interval.start)
			continue;
		if (!mw_intervals_add(&mappings.tree, &interval)) {
			count_lost();
			break;
		}
		objects++;
		bytes += (int64_t)(interval.limit - interval.start);
	}
	atomic_fetch_add_explicit(&mappings.bytes, (uint64_t)bytes, memory_order_relaxed);
	if (stack && objects)
		count(stack, objects, bytes);
}

/* Finds the end of the segment that was attached at the address; 0: it is unknown. */
static uint64_t attached_limit(uint64_t address, uint64_t before) {
	const mw_interval_t *interval = mw_intervals_next(&mappings.tree, address);
	if (!interval || interval->kind != MW_MAPPING_SHM || interval->number >= before)
		return 0;
	return interval->whole_limit;
}

uint32_t mw_mappings_stack(const uint64_t *frames, unsigned depth, bool truncated) {
	static const uint64_t no_frame = 0;
	if (depth == 0) {
		frames = &no_frame;
		depth = 1;
		truncated = true;
	}
	mw_depot_path_t path = {.outermost = &frames[depth - 1],
				.inwards = -1,
				.sum = MW_DEPOT_SUM_START,
				.depth = depth,
				.truncated = truncated,
				.is_mapping = true};
	for (unsigned i = depth; i-- > 0;)
		path.sum = mw_depot_sum(path.sum, frames[i]);
	return mw_depot_find_path(&path);
}

/* Returns the number of the stack, whose PCs become frames. */
static uint32_t stack_of(const mw_mapping_stack_t *stack, mw_table_lock_t *tables) {
	bool locked = mw_tables_lock(tables);
	mw_modules_encode(stack->frames, stack->depth);
	uint32_t number = mw_mappings_stack(stack->frames, stack->depth, stack->truncated);
	mw_tables_unlock(tables, locked);
	return number;
}

static void apply(const mw_mapping_change_t *change, const mw_mapping_stack_t *stack,
		  mw_table_lock_t *tables) {
	uint64_t gone_limit = change->gone_limit;
	if (change->detaches)
		gone_limit = attached_limit(change->gone_start, change->gone_before);
	if (change->gone_start < gone_limit)
		cut(change->gone_start, gone_limit, change->gone_before,
		    change->detaches ? 1u << change->kind : ALL_KINDS);
	if (change->start >= change->limit)
		return;
	cut(change->start, change->limit, change->number, ALL_KINDS);
	add(change, stack_of(stack, tables));
}

/* The count is a hint: it changes a little before or after the places do. */
static bool has_waiting(void) {
	return atomic_load_explicit(&waiting_count, memory_order_relaxed) != 0;
}

/* Call numbers grow from call to call of a thread. */
static uint64_t order_of(const mw_mapping_change_t *change) {
	return change->start < change->limit ? change->number : change->gone_before;
}

/* Returns the oldest change that waits, NULL if none does. A handler may fill a place that this has
 * passed and then, with a newer change, one that it has not: so it looks again until it finds none
 * older. */
static waiting_t *oldest_waiting(void) {
	waiting_t *oldest = NULL, *before;
	do {
		before = oldest;
		for (unsigned i = 0; i < WAITING_MAX; i++)
			/* Pairs with the release in mw_mappings_postpone(). */
			if (atomic_load_explicit(&waiting[i].state, memory_order_acquire) ==
				    READY &&
			    (!oldest || order_of(&waiting[i].change) < order_of(&oldest->change)))
				oldest = &waiting[i];
	} while (oldest != before);
	return oldest;
}

static void apply_waiting(mw_table_lock_t *tables) {
	if (MW_LIKELY(!has_waiting()))
		return;
	for (unsigned i = 0; i < WAITING_MAX; i++) {
		waiting_t *place = oldest_waiting();
		if (!place)
			break;
		apply(&place->change,
		      &(mw_mapping_stack_t){.frames = place->frames,
					    .depth = place->depth,
					    .truncated = place->truncated},
		      tables);
		atomic_store_explicit(&place->state, EMPTY, memory_order_release);
		atomic_fetch_sub_explicit(&waiting_count, 1, memory_order_relaxed);
	}
}

void mw_mappings_change(const mw_mapping_change_t *change, const mw_mapping_stack_t *stack,
			mw_table_lock_t *tables) {
	int saved_errno = errno;
	if (!lock()) {
		mw_mappings_postpone(change, stack);
	} else {
		/* Recording may have ended meanwhile. */
		bool is_on = mw_mappings_are_used() & MW_MAPPINGS_RECORDED;
		if (is_on && has_memory()) {
			apply_waiting(tables);
			apply(change, stack, tables);
		} else if (is_on) {
			count_lost();
		}
		unlock();
	}
	/* A handler may have interrupted the above. What a second one leaves waits for the next
	 * call. */
	if (MW_UNLIKELY(has_waiting()) && lock()) {
		if (mappings.tree.nodes)
			apply_waiting(tables);
		unlock();
	}
	errno = saved_errno;
}

void mw_mappings_postpone(const mw_mapping_change_t *change, const mw_mapping_stack_t *stack) {
	for (unsigned i = 0; i < WAITING_MAX; i++) {
		waiting_t *place = &waiting[i];
		uint32_t empty = EMPTY;
		/* Pairs with the release in apply_waiting(). */
		if (!atomic_compare_exchange_strong_explicit(&place->state, &empty, FILLING,
							     memory_order_acquire,
							     memory_order_relaxed))
			continue;
		unsigned depth =
			stack->depth < WAITING_DEPTH_MAX ? stack->depth : WAITING_DEPTH_MAX;
		place->change = *change;
		place->depth = depth;
		place->truncated = stack->truncated || depth < stack->depth;
		memcpy(place->frames, stack->frames, depth * sizeof *place->frames);
		atomic_fetch_add_explicit(&waiting_count, 1, memory_order_relaxed);
		atomic_store_explicit(&place->state, READY, memory_order_release);
		return;
	}
	count_lost();
}

/* ---- on and off ---- */

static void forget_all(void) {
	mw_interval_tree_t *tree = &mappings.tree;
	if (!tree->nodes)
		return;
	cut(0, UINT64_MAX, UINT64_MAX, ALL_KINDS);
	MW_ASSERT(tree->count == 0);
}

void mw_mappings_set(bool on) {
	int saved_errno = errno;
	if (on) {
		atomic_fetch_or_explicit(&mw_mappings_uses, MW_MAPPINGS_RECORDED,
					 memory_order_relaxed);
	} else {
		atomic_fetch_and_explicit(&mw_mappings_uses, ~MW_MAPPINGS_RECORDED,
					  memory_order_relaxed);
		if (lock()) {
			forget_all();
			unlock();
		}
	}
	errno = saved_errno;
}

void mw_mappings_set_watched(bool on) {
	if (on)
		atomic_fetch_or_explicit(&mw_mappings_uses, MW_MAPPINGS_WATCHED,
					 memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&mw_mappings_uses, ~MW_MAPPINGS_WATCHED,
					  memory_order_relaxed);
}

/* ---- readers ---- */

void mw_mappings_visit(void (*see)(uintptr_t start, uintptr_t limit, uint32_t stack),
		       unsigned max) {
	if (!mappings.tree.nodes || !lock())
		return;
	uint64_t from = 0;
	for (unsigned i = 0; i < max; i++) {
		const mw_interval_t *interval = mw_intervals_next(&mappings.tree, from);
		if (!interval)
			break;
		see(interval->start, interval->limit, interval->stack);
		from = interval->limit;
	}
	unlock();
}

void mw_mappings_visit_memory(void (*see)(uintptr_t start, uintptr_t limit)) {
	uintptr_t base = (uintptr_t)mappings.tree.nodes;
	if (base)
		see(base, base + sizeof(mw_interval_node_t) * mappings.tree.capacity);
}

/* The tables were quiesced at the fork: no thread was in a change. */
void mw_mappings_forked(void) {
	atomic_store_explicit(&mappings.owner, 0, memory_order_relaxed);
	uint32_t ready = 0;
	for (unsigned i = 0; i < WAITING_MAX; i++)
		if (atomic_load_explicit(&waiting[i].state, memory_order_relaxed) == READY)
			ready++;
		else
			atomic_store_explicit(&waiting[i].state, EMPTY, memory_order_relaxed);
	atomic_store_explicit(&waiting_count, ready, memory_order_relaxed);
}
