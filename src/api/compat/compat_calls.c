/* SPDX-License-Identifier: MIT
 * compat_calls.c -- the table of functions for other libraries. */
#include "api/compat/compat_calls.h"

#include <mallow/mallow.h>
#include <stdatomic.h>

#include "api/compat/compat_parts.h"
#include "api/leak_calls.h"
#include "api/process/start.h"
#include "heap/core/free.h"
#include "heap/large/huge.h"
#include "heap/local/counts.h"
#include "heap/local/tcache.h"
#include "heap/memory/chunk.h"
#include "heap/memory/decay.h"
#include "heap/memory/meta.h"
#include "heap/stats/heap_walk.h"
#include "heap/stats/stats.h"
#include "heap/thread/flush.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "os/lock/lock.h"
#include "os/memory/huge_pages.h"
#include "os/memory/numa.h"
#include "prof/control/control.h"
#include "prof/control/triggers.h"
#include "prof/dump/dump_view.h"
#include "prof/mapping_hooks.h"
#include "prof/prof.h"
#include "prof/sample/activity.h"
#include "prof/sample_hooks.h"
#include "prof/store/store.h"
#include "prof/unwind/unwind.h"
#include "prof/unwind/walk.h"

static bool owns(const void *address) {
	unsigned kind = mw_word_kind((uintptr_t)address);
	return kind == MW_MAP_CHUNK || kind == MW_MAP_HUGE || kind == MW_MAP_GUARDED ||
	       kind == MW_MAP_EMPTY;
}

static uint64_t thread_cache_bytes(void) {
	const mw_heap_t *heap = mw_thread.heap;
	if (!heap)
		return 0;
	uint64_t bytes = mw_heap_tiny_tcache_bytes();
	for (unsigned c = MW_TINY_CLASSES; c < MW_CLASS_COUNT; c++)
		bytes += (uint64_t)mw_tcache_length(heap, c) * mw_class_bytes[c];
	return bytes;
}

/* Returns the index behind the last frame of libmallow; 0: it has none. A hook lies between frames
 * of libmallow and may have called malloc itself. */
static unsigned behind_own(const uint64_t *pcs, unsigned depth) {
	for (unsigned i = depth; i > 0; i--)
		if (mw_walk_is_own(pcs[i - 1]))
			return i;
	return 0;
}

static unsigned capture(uint64_t *pcs, unsigned max_depth, bool from_caller) {
	uint64_t all[MW_PROF_DEPTH_MAX];
	unsigned count = mw_unwind_capture(all, MW_PROF_DEPTH_MAX).depth, used = 0;
	for (unsigned i = 0; i < count; i++)
		all[i] &= ~MW_FRAME_EXACT;
	unsigned first = from_caller ? behind_own(all, count) : 0;
	for (unsigned i = first; i < count && used < max_depth; i++)
		pcs[used++] = all[i];
	return used;
}

static uint64_t stack_count(void) {
	return mw_control_has_tables() ? mw_dump_stack_count() : 0;
}

static bool stack_at(uint64_t number, mw_compat_stack_t *stack) {
	mw_dump_stack_t seen;
	int64_t details[MW_DUMP_TYPES];
	bool is_mapping = false;
	if (mw_dump_stack_at(number, &seen)) {
		mw_dump_details_at(number, details);
	} else if (mw_dump_mapping_at(number, &seen)) {
		is_mapping = true;
		details[MW_DUMP_INUSE_REQUESTED] = seen.sized.inuse_bytes;
		details[MW_DUMP_ALLOC_REQUESTED] = seen.sized.alloc_bytes;
	} else {
		return false;
	}
	*stack = (mw_compat_stack_t){
		.inuse_objects = seen.sized.inuse_objects + seen.zero.inuse_objects,
		.inuse_bytes = details[MW_DUMP_INUSE_REQUESTED],
		.alloc_objects = seen.sized.alloc_objects + seen.zero.alloc_objects,
		.alloc_bytes = details[MW_DUMP_ALLOC_REQUESTED],
		.is_mapping = is_mapping,
	};
	stack->depth = mw_dump_return_addresses(number, stack->pcs, MW_COMPAT_DEPTH_MAX);
	return true;
}

/* How the profiler ran before record_all(true). */
static struct {
	bool was_active;
	uint64_t mean_bytes;
} before;

static void record_all(bool on) {
	if (on) {
		mw_prof_figures_t figures;
		mw_prof_figures(&figures);
		before.was_active = figures.active;
		before.mean_bytes = figures.mean_bytes;
		mw_sample_start(MW_COMPAT_DEPTH_MAX);
	}
	mw_prof_set_mean_bytes(on ? 1 : before.mean_bytes);
	mw_prof_set_active(on || before.was_active);
	mw_prof_reset();
	mw_heap_take_rate();
}

static void watch(mw_on_watched_t *function) {
	mw_program_hook_set(MW_PROGRAM_HOOK_WATCHED, (uintptr_t)function);
}

static void watch_growth(mw_on_grew_t *function) {
	mw_program_hook_set(MW_PROGRAM_HOOK_GREW, (uintptr_t)function);
}

static bool is_interrupted(void) {
	return mw_lock_held_ranks != 0 || mw_unwind_is_interrupted();
}

static bool record_mappings(bool on) {
	bool was_on = mw_triggers_value(MW_SETTING_prof_mappings) != 0;
	mw_prof_set(MW_SETTING_prof_mappings, on);
	return was_on;
}

static void ignore_leaks(bool begins) {
	if (begins)
		mallow_leak_ignore_begin();
	else
		mallow_leak_ignore_end();
}

static uint32_t record_sequences(uint32_t *sequences, uint32_t room) {
	uint64_t bytes = mw_store_used_bytes(MW_SECTION_RECORDS);
	uint32_t count = (uint32_t)(bytes / sizeof(mw_state_record_t));
	for (uint32_t i = 0; i < count && i < room; i++) {
		const mw_state_record_t *record = mw_store_private(MW_SECTION_RECORDS, i);
		sequences[i] = atomic_load_explicit(&record->sequence, memory_order_relaxed);
	}
	return count;
}

/* ---- settings ---- */

static void set_decay(int64_t ms) {
	uint64_t delay_ns = ms < 0 ? MW_DECAY_NEVER_NS : (uint64_t)ms * 1000000u;
	mw_chunk_set_decay(delay_ns, true);
	mw_huge_set_decay(delay_ns, true);
	/* Otherwise memory that is free already would wait for the earlier delay. */
	mw_chunk_purge(true);
	mw_huge_purge(true);
}

static void set_lazy_purge(bool on) {
	mw_chunk_set_muzzy_decay(on ? MW_DECAY_NEVER_NS : 0);
}

static void set_huge_pages(bool always, bool never, bool from_pool) {
	mw_os_huge_pages_set(always  ? MW_OS_HUGE_PAGES_ALWAYS
			     : never ? MW_OS_HUGE_PAGES_NEVER
				     : MW_OS_HUGE_PAGES_DEFAULT,
			     from_pool);
}

static void set_one_node(void) {
	mw_os_numa_several = false;
}

static void purge(bool all) {
	if (all) {
		mw_heap_trim();
		return;
	}
	mw_heap_abandon_cached(true);
	mw_huge_purge(false);
	mw_chunk_purge(false);
}

static void heap_stats(mw_compat_heap_stats_t *stats) {
	mw_chunk_stats_t chunks;
	mw_heap_counts_t counts = {0};
	mw_chunk_stats(&chunks);
	mw_heap_sum_counts(&counts);
	*stats = (mw_compat_heap_stats_t){
		.large = counts.large,
		.large_bytes = counts.large_bytes,
		.slices_in_use = chunks.in_use_bytes >> MW_SLICE_SHIFT,
		.purges = chunks.purges + chunks.muzzy_purges,
		.purge_calls = chunks.purge_calls + chunks.muzzy_purge_calls,
	};
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		stats->given[c] = counts.given[c];
}

/* ---- the table ---- */

/* Several threads store equal values. `volatile` has each address loaded by an instruction that the
 * linker relaxes: addresses in pairs would come from a table that is relocated. */
static MW_COLD void fill(volatile mw_compat_calls_t *calls) {
	calls->version = MALLOW_VERSION;
	mw_compat_fill_blocks(&calls->blocks);
	mw_compat_fill_arenas(&calls->arenas);
	calls->class_bytes = mw_class_bytes;
	calls->add_own_code = mw_unwind_add_own_code;
	calls->alloc_metadata = mw_meta_alloc;
	calls->set_decay = set_decay;
	calls->set_lazy_purge = set_lazy_purge;
	calls->set_huge_pages = set_huge_pages;
	calls->set_one_node = set_one_node;
	calls->purge = purge;
	calls->heap_stats = heap_stats;
	calls->at_leave = mw_prof_on_leave;
	calls->is_interrupted = is_interrupted;
	calls->stats = mw_api_stats;
	calls->totals = mw_heap_totals;
	calls->walk = mw_heap_walk;
	calls->thread_cache_bytes = thread_cache_bytes;
	calls->owns = owns;
	calls->find_recorded = mw_leak_find_recorded;
	calls->set_waiting = mw_heap_set_waiting;
	calls->waiting_bytes = mw_heap_waiting_bytes;
	calls->flush_thread = mw_heap_flush_thread;
	calls->capture = capture;
	calls->stack_count = stack_count;
	calls->stack_at = stack_at;
	calls->record_all = record_all;
	calls->watch = watch;
	calls->watch_growth = watch_growth;
	calls->ignore_leak = mallow_leak_ignore;
	calls->ignore_leaks = ignore_leaks;
	calls->check_leaks = mw_api_check_leaks;
	calls->record_sequences = record_sequences;
	calls->record_mappings = record_mappings;
	calls->watch_mappings = mw_mapping_watch;
}

const mw_compat_calls_t *mallow_compat_calls(void) {
	static mw_compat_calls_t calls;
	fill(&calls);
	if (MW_UNLIKELY(!mw_api_started))
		mw_api_start();
	return &calls;
}
