/* SPDX-License-Identifier: MIT
 * attach_detach.c -- follows the command's requests: attach and detach; and detaches by itself. */
#include <errno.h>
#include <stdatomic.h>

#include "attach/blob.h"
#include "attach/live_filter.h"
#include "attach/thread_records.h"
#include "os/file/proc.h"
#include "os/platform/libc_calls.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof/prof.h"
#include "prof/store/published.h"
#include "prof/store/store.h"
#include "state/layout.h"

#define WORK (&mw_attach_work)
/* Options of the library that have no other value here: prof_bt_max and prof_cost_limit. */
#define DEPTH_MAX 128u
#define COST_LIMIT 5u

static struct {
	bool is_started;
	_Atomic uint64_t detach_at_ns; /* CLOCK_MONOTONIC; UINT64_MAX: never */
} attach = {.detach_at_ns = UINT64_MAX};

static void set_state(mw_attach_state_t state, mw_attach_reason_t reason) {
	WORK->reason = reason;
	/* Pairs with the acquire in mw_attach_state(). */
	atomic_store_explicit(&WORK->state, state, memory_order_release);
}

static void show32(size_t offset, uint32_t value) {
	mw_both_set32(mw_store_live_both(), offset, value);
}

void mw_attach_show_counts(void) {
	if (!mw_control_has_tables())
		return;
	show32(MW_LIVE(attach_slots), WORK->slots_replaced);
	show32(MW_LIVE(attach_modules), (uint32_t)WORK->module_count);
	show32(MW_LIVE(attach_modules_later), WORK->modules_later);
}

void mw_attach_stop(mw_attach_state_t state, mw_attach_reason_t reason) {
	mw_attach_restore_slots();
	set_state(state, reason);
	if (!mw_control_has_tables())
		return;
	mw_both_set64(mw_store_live_both(), MW_LIVE(detached_realtime_ns), mw_os_realtime_ns());
	show32(MW_LIVE(attach_reason), reason);
	mw_store_set_flag(MW_STATE_DETACHED);
}

void mw_attach_check_time(void) {
	/* Relaxed: one thread replaces the time, and no other data depends on it. */
	uint64_t at_ns = atomic_load_explicit(&attach.detach_at_ns, memory_order_relaxed);
	if (at_ns == UINT64_MAX || mw_os_monotonic_coarse_ns() < at_ns || !mw_attach_lock_slots())
		return;
	if (atomic_compare_exchange_strong_explicit(&attach.detach_at_ns, &at_ns, UINT64_MAX,
						    memory_order_relaxed, memory_order_relaxed)) {
		mw_attach_stop(MW_ATTACH_OFF, MW_ATTACH_REASON_DETACH_TIME);
		mw_prof_set_active(false);
	}
	mw_attach_unlock_slots();
}

/* Another thread changes slots for some milliseconds at most, or forever if it was ended there. */
#define LOCK_TRIES 1000u
static bool lock_slots_patiently(void) {
	for (unsigned i = 0; i < LOCK_TRIES; i++) {
		if (mw_attach_lock_slots())
			return true;
		mw_os_back_off(i);
	}
	return false;
}

void mw_attach_before_filter(void) {
	mw_attach_thread_t *thread = mw_attach_thread_while_on();
	if (!thread || !mw_attach_is_parent() || !mw_attach_begin(thread))
		return;
	if (__builtin_setjmp(thread->jump) == 0 && lock_slots_patiently()) {
		if (mw_attach_state() == MW_ATTACH_ON) {
			mw_attach_stop(MW_ATTACH_OFF, MW_ATTACH_REASON_FILTER);
			mw_prof_set_active(false);
		}
		mw_attach_unlock_slots();
	}
	mw_attach_end(mw_attach_entered_thread());
}

static bool is_right(void) {
	return WORK->mean_bytes >= 1 && WORK->mean_bytes <= MW_STATE_MEAN_BYTES_MAX &&
	       WORK->module_count >= 1 && WORK->module_count <= MW_ATTACH_MODULES_MAX &&
	       WORK->slot_count >= 1 && WORK->slot_count <= MW_ATTACH_SLOTS_MAX &&
	       WORK->original[MW_ATTACH_malloc] != 0 && WORK->original[MW_ATTACH_free] != 0;
}

/* The profiler, which is started once in a process. */
static void start_profiler(void) {
	mw_os_clock_start();
	mw_libc_calls_find();
	mw_prof_start(&(mw_prof_config_t){
		.active = true,
		.mean_bytes = WORK->mean_bytes,
		.depth_max = DEPTH_MAX,
		.cost_limit = COST_LIMIT,
	});
	attach.is_started = true;
	mw_attach_libc_ready();
}

/* A later time, or in a forked child of a process to which the command attached: what is known of
 * blocks does not count any more. */
static void start_again(void) {
	mw_control_check_fork();
	mw_attach_live_clear();
	mw_prof_reset();
	mw_prof_set_mean_bytes(WORK->mean_bytes);
	mw_prof_set_active(true);
	mw_attach_wake_threads();
	if (!mw_published_exists())
		mw_control_publish();
}

static void show_attached(void) {
	WORK->attached_realtime_ns = mw_os_realtime_ns();
	mw_both_set64(mw_store_live_both(), MW_LIVE(attached_realtime_ns),
		      WORK->attached_realtime_ns);
	mw_both_set64(mw_store_live_both(), MW_LIVE(detached_realtime_ns), 0);
	show32(MW_LIVE(attach_generation), WORK->generation);
	show32(MW_LIVE(attach_reason), MW_ATTACH_REASON_NONE);
	mw_store_set_flag(MW_STATE_ATTACHED);
	mw_store_clear_flag(MW_STATE_DETACHED);
}

/* The state file exists before the first slot is replaced. Returns why the blob is not attached. */
static mw_attach_reason_t start(void) {
	if (!is_right())
		return MW_ATTACH_REASON_VALUE;
	if (attach.is_started)
		start_again();
	else
		start_profiler();
	if (!mw_control_has_tables())
		return MW_ATTACH_REASON_MEMORY;
	if (!mw_published_exists())
		return MW_ATTACH_REASON_FILE;
	WORK->generation++;
	show_attached();
	attach.detach_at_ns =
		WORK->detach_after_ns ? mw_os_monotonic_ns() + WORK->detach_after_ns : UINT64_MAX;
	set_state(MW_ATTACH_ON, MW_ATTACH_REASON_NONE);
	mw_attach_replace_slots();
	mw_attach_show_counts();
	return WORK->slots_replaced ? MW_ATTACH_REASON_NONE : MW_ATTACH_REASON_SLOTS;
}

static void follow_start(void) {
	mw_attach_state_t state = mw_attach_state();
	mw_attach_reason_t reason = MW_ATTACH_REASON_VALUE;
	errno = 0;
	/* The slots of this time are restored by the list of this time: detach first. */
	if (state == MW_ATTACH_NEW || state == MW_ATTACH_OFF) {
		reason = start();
		WORK->error = reason == MW_ATTACH_REASON_NONE ? 0 : (uint32_t)errno;
		if (reason != MW_ATTACH_REASON_NONE)
			mw_attach_stop(state, reason);
	}
	WORK->reason = reason;
}

static void follow_stop(void) {
	if (mw_attach_state() != MW_ATTACH_ON)
		return;
	if (mw_attach_is_parent()) {
		mw_attach_stop(MW_ATTACH_OFF, MW_ATTACH_REASON_NONE);
		mw_prof_set_active(false);
	} else {
		mw_attach_restore_slots();
		set_state(MW_ATTACH_OFF, MW_ATTACH_REASON_NONE);
	}
}

/* START or STOP. */
static void follow_change(void) {
	if (!mw_attach_lock_slots()) {
		WORK->reason = MW_ATTACH_REASON_BUSY;
		return;
	}
	if (WORK->request == MW_ATTACH_START)
		follow_start();
	else
		follow_stop();
	mw_attach_unlock_slots();
}

static void follow(void) {
	WORK->error = 0;
	WORK->reason = MW_ATTACH_REASON_NONE;
	if (WORK->request == MW_ATTACH_START || WORK->request == MW_ATTACH_STOP)
		follow_change();
	else
		WORK->reason = MW_ATTACH_REASON_VALUE;
}

/* The thread is inside of the profiler, or a signal handler of the program has left it from there
 * by longjmp(3), so that it seems to be there forever. Detaching changes nothing that it may be
 * changing. */
static void follow_inside(void) {
	WORK->reason = MW_ATTACH_REASON_BUSY;
	if (WORK->request != MW_ATTACH_STOP || !mw_attach_lock_slots())
		return;
	if (mw_attach_state() == MW_ATTACH_ON)
		mw_attach_stop(MW_ATTACH_OFF, MW_ATTACH_REASON_NONE);
	WORK->reason = MW_ATTACH_REASON_NONE;
	mw_attach_unlock_slots();
}

static bool begin(void) {
	if (!attach.is_started)
		mw_attach_libc_start();
	/* In a forked child, too, where the kernel has wiped the records. */
	if (WORK->request != MW_ATTACH_START || mw_attach_is_parent())
		return true;
	WORK->reason = MW_ATTACH_REASON_MEMORY;
	return mw_attach_threads_start();
}

void mw_attach_enter(void) {
	uint32_t number = atomic_load_explicit(&WORK->requested, memory_order_acquire);
	if (number == atomic_load_explicit(&WORK->answered, memory_order_relaxed))
		return;
	if (begin()) {
		mw_attach_thread_t *thread = mw_attach_entered_thread();
		if (mw_attach_begin(thread)) {
			if (__builtin_setjmp(thread->jump) == 0)
				follow();
			mw_attach_end(mw_attach_entered_thread());
		} else {
			follow_inside();
		}
	}
	/* Pairs with the acquire of the command. */
	atomic_store_explicit(&WORK->answered, number, memory_order_release);
}
