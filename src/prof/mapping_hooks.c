/* SPDX-License-Identifier: MIT
 * mapping_hooks.c -- what a call changes in the address space, and who made it. */
#include "prof/mapping_hooks.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "base/bits.h"
#include "os/lock/lock.h"
#include "os/memory/map.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof/control/heap_walk.h"
#include "prof/mappings/mappings.h"
#include "prof/new_objects.h"
#include "prof/prof.h"
#include "prof/sample/activity.h"
#include "prof/sample_hooks.h"
#include "prof/unwind/unwind.h"
#include "prof/unwind/walk.h"

/* Frames that are taken of a stack: a handler's stack of signals may be small. */
#define DEPTH_MAX 128u

static _Atomic uintptr_t watcher;

void mw_mapping_watch(mw_on_mapping_call_t *function) {
	if (!function)
		mw_mappings_set_watched(false);
	/* Pairs with the acquire in tell(). */
	atomic_store_explicit(&watcher, (uintptr_t)function, memory_order_release);
	if (function)
		mw_mappings_set_watched(true);
}

static void tell(const mw_mapping_call_t *call) {
	uintptr_t function = atomic_load_explicit(&watcher, memory_order_acquire);
	if (function)
		((mw_on_mapping_call_t *)function)(call);
}

/* ---- what the call changed ---- */

static uint64_t end_of(uint64_t start, uint64_t bytes) {
	uint64_t end = start + mw_round_up(bytes, MW_OS_PAGE_BYTES);
	return end < start ? UINT64_MAX : end;
}

/* Huge pages of the pool: the kernel rounds to their size, which the call does not tell. What is
 * missing at the end of a range is found mapped by nobody. */
static void describe_mmap(const mw_mapping_call_t *call, mw_mapping_change_t *change) {
	change->start = (uintptr_t)call->result;
	change->limit = end_of(change->start, call->length);
}

static void describe_mremap(const mw_mapping_call_t *call, mw_mapping_change_t *change) {
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif
	if (!(call->flags & MREMAP_DONTUNMAP)) {
		change->gone_start = (uintptr_t)call->address;
		change->gone_limit = end_of(change->gone_start, call->length);
	}
	change->start = (uintptr_t)call->result;
	change->limit = end_of(change->start, call->new_length);
}

/* sbrk(2) returns the former end. */
static void describe_sbrk(const mw_mapping_call_t *call, mw_mapping_change_t *change) {
	uint64_t before = (uintptr_t)call->result, after = before + (uint64_t)call->offset;
	if (call->offset > 0) {
		change->start = before;
		change->limit = after;
	} else {
		change->gone_start = after;
		change->gone_limit = before;
	}
}

/* The segment's size is known by number only; without the right to ask it counts as one page. */
static void describe_shmat(const mw_mapping_call_t *call, mw_mapping_change_t *change) {
	struct shmid_ds segment;
	bool is_known = shmctl(call->file, IPC_STAT, &segment) == 0;
	change->start = (uintptr_t)call->result;
	change->limit = end_of(change->start, is_known ? segment.shm_segsz : 1);
}

static void describe(const mw_mapping_call_t *call, mw_mapping_change_t *change) {
	change->kind = MW_MAPPING_MMAP;
	switch (call->function) {
	case MW_CALL_MMAP:
		describe_mmap(call, change);
		break;
	case MW_CALL_MUNMAP:
		change->gone_start = (uintptr_t)call->address;
		change->gone_limit = end_of(change->gone_start, call->length);
		break;
	case MW_CALL_MREMAP:
		describe_mremap(call, change);
		break;
	case MW_CALL_SBRK:
		change->kind = MW_MAPPING_SBRK;
		describe_sbrk(call, change);
		break;
	case MW_CALL_SHMAT:
		change->kind = MW_MAPPING_SHM;
		describe_shmat(call, change);
		break;
	case MW_CALL_SHMDT:
		change->kind = MW_MAPPING_SHM;
		change->gone_start = (uintptr_t)call->address;
		change->detaches = true;
		break;
	}
}

/* ---- what is due after a change ---- */

/* A walk is due when the bytes mapped since the start have grown by this part, and by this much: as
 * for the heap's own growth (heap_walk.c). */
#define GROWTH_STEP 32u
#define GROWTH_MIN_BYTES (UINT64_C(1) << 20)

static bool is_publication_due(uint64_t mapped_bytes, uint64_t now_ns) {
	uint64_t after_ns =
		atomic_load_explicit(&mw_control_view.publish_after_ns, memory_order_relaxed);
	return after_ns != UINT64_MAX && now_ns >= after_ns && !mw_control_is_secure() &&
	       mapped_bytes >= mw_control_view.state_min_bytes;
}

static bool is_walk_due(uint64_t mapped_bytes) {
	static _Atomic uint64_t next_bytes;
	uint64_t next = atomic_load_explicit(&next_bytes, memory_order_relaxed);
	/* The thread that raises next_bytes walks the heap. */
	return mapped_bytes > next &&
	       atomic_compare_exchange_strong_explicit(&next_bytes, &next,
						       mapped_bytes + mapped_bytes / GROWTH_STEP +
							       GROWTH_MIN_BYTES,
						       memory_order_relaxed, memory_order_relaxed);
}

/* After a change: publishes the state file, walks the heap, writes a tick, each if it is due, and
 * answers tools. Not between mw_tables_enter() and mw_tables_leave(). */
static void maintain(uint64_t now_ns) {
	uint64_t mapped_bytes = mw_mappings_bytes();
	if (is_publication_due(mapped_bytes, now_ns))
		mw_control_publish();
	if (is_walk_due(mapped_bytes)) {
		mw_tables_enter(&mw_control_table_lock);
		mw_heap_walk_take(true);
		mw_tables_leave(&mw_control_table_lock);
	}
	mw_control_tick(now_ns);
	mw_control_poll();
}

/* ---- who made the call ---- */

/* Returns whether the call comes from code that interrupted the library, or that the library
 * called: its tables may be half changed. */
static bool is_inside(const uint64_t *frames, unsigned depth) {
	for (unsigned i = 0; i < depth; i++)
		if (mw_walk_is_own(frames[i] & ~MW_FRAME_EXACT))
			return true;
	return false;
}

static MW_NOINLINE void record(const mw_mapping_change_t *change) {
	uint64_t frames[DEPTH_MAX];
	unsigned depth_max = mw_sample_depth_max();
	mw_unwind_result_t walk;
	mw_new_objects_t objects = mw_new_objects_begin();
	do
		walk = mw_unwind_capture(frames, depth_max < DEPTH_MAX ? depth_max : DEPTH_MAX);
	while (MW_UNLIKELY(walk.met_unknown) && mw_new_objects_learn(&objects, frames, walk.depth));
	mw_mapping_stack_t stack = {
		.frames = frames, .depth = walk.depth, .truncated = walk.truncated};
	if (is_inside(frames, walk.depth) || mw_lock_held_ranks != 0 || mw_lock_is_forking()) {
		mw_mappings_postpone(change, &stack);
		return;
	}
	mw_control_check_fork();
	if (!mw_control_need_tables())
		return;
	mw_tables_enter(&mw_control_table_lock);
	mw_mappings_change(change, &stack, &mw_control_table_lock);
	mw_tables_leave(&mw_control_table_lock);
	maintain(mw_os_monotonic_coarse_ns());
}

void *mw_mapping_call(mw_mapping_call_t *call, mw_make_mapping_call_t *make) {
	/* Relaxed, and read once: both halves see the same. */
	unsigned uses = mw_mappings_are_used();
	mw_mapping_change_t change = {.gone_before = mw_mappings_next_number()};
	if (uses & MW_MAPPINGS_WATCHED) {
		call->is_before = true;
		tell(call);
		call->is_before = false;
	}
	call->result = make(call);
	int saved_errno = errno;
	if (call->result != MAP_FAILED && (uses & MW_MAPPINGS_RECORDED) && !mw_prof_ignoring) {
		change.number = mw_mappings_next_number();
		describe(call, &change);
		if (change.start < change.limit || change.gone_start < change.gone_limit ||
		    change.detaches)
			record(&change);
	}
	if (uses & MW_MAPPINGS_WATCHED)
		tell(call);
	errno = saved_errno;
	return (void *)(uintptr_t)call->result;
}
