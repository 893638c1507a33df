/* SPDX-License-Identifier: MIT
 * due_dumps.c -- one bit for each reason for which a dump is due, and the dumps. */
#include "prof/control/due_dumps.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/compiler.h"
#include "heap/sample/hooks.h"
#include "os/signal/signal.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof/control/triggers.h"
#include "prof/dump/dump.h"
#include "prof/store/store.h"

static struct {
	_Atomic uint32_t due;     /* one bit for each reason */
	_Atomic uint32_t request; /* number of the last dump that a tool requested */
	_Atomic uint64_t max;     /* dump_max: most dumps of a reason; 0: any number */
	_Atomic uint64_t min_ns;  /* dump_min_ms: least time between two dumps of a reason */
	struct {
		_Atomic uint64_t not_before_ns, count;
	} reasons[MW_DUMP_REASON_COUNT];
} dumps;

void mw_due_dumps_add(mw_dump_reason_t reason) {
	/* Sequentially consistent, like the load in ripe(): a thread that finds a dump in progress
	 * has stored its request before, and the dumping thread reads requests after its dump. */
	atomic_fetch_or_explicit(&dumps.due, 1u << reason, memory_order_seq_cst);
}

static bool is_spent(mw_dump_reason_t reason) {
	uint64_t max = atomic_load_explicit(&dumps.max, memory_order_relaxed);
	return max != 0 &&
	       atomic_load_explicit(&dumps.reasons[reason].count, memory_order_relaxed) >= max;
}

/* Returns whether a tool or the program waits for a dump with this reason. */
static bool is_prompt(mw_dump_reason_t reason) {
	return reason == MW_DUMP_api || reason == MW_DUMP_order || reason == MW_DUMP_exit;
}

bool mw_due_dumps_is_early(mw_dump_reason_t reason, uint64_t now_ns) {
	return !is_prompt(reason) &&
	       now_ns < atomic_load_explicit(&dumps.reasons[reason].not_before_ns,
					     memory_order_relaxed);
}

/* Returns the due reasons whose least interval has passed; reasons that reached dump_max are
 * dropped. */
static uint32_t ripe(uint64_t now_ns) {
	uint32_t result = 0, due = atomic_load_explicit(&dumps.due, memory_order_seq_cst);
	for (uint32_t left = due; left; left &= left - 1) {
		mw_dump_reason_t reason = (mw_dump_reason_t)__builtin_ctz(left);
		if (is_spent(reason) && !is_prompt(reason))
			atomic_fetch_and_explicit(&dumps.due, ~(1u << reason),
						  memory_order_relaxed);
		else if (!mw_due_dumps_is_early(reason, now_ns))
			result |= 1u << reason;
	}
	return result;
}

static void count_dump(uint32_t reasons, uint64_t now_ns) {
	uint64_t min_ns = atomic_load_explicit(&dumps.min_ns, memory_order_relaxed);
	for (; reasons; reasons &= reasons - 1) {
		__typeof__(&dumps.reasons[0]) r = &dumps.reasons[__builtin_ctz(reasons)];
		atomic_fetch_add_explicit(&r->count, 1, memory_order_relaxed);
		atomic_store_explicit(&r->not_before_ns, now_ns + min_ns, memory_order_relaxed);
	}
}

void mw_due_dumps_write(void) {
	for (;;) {
		uint64_t now_ns = mw_os_monotonic_ns();
		uint32_t reasons = ripe(now_ns);
		if (reasons == 0)
			return;
		atomic_fetch_and_explicit(&dumps.due, ~reasons, memory_order_seq_cst);
		/* Relaxed: the number is written before the bit. A later request sets the bit
		 * again. */
		uint32_t request = atomic_load_explicit(&dumps.request, memory_order_relaxed);
		int result = mw_dump_to_file((mw_dump_reason_t)__builtin_ctz(reasons), NULL);
		if (result == MW_DUMP_BUSY) {
			atomic_fetch_or_explicit(&dumps.due, reasons, memory_order_seq_cst);
			return;
		}
		/* Also counts a dump that failed, so that it is not repeated at once. */
		count_dump(reasons, now_ns);
		if (reasons & 1u << MW_DUMP_order)
			mw_both_set32(mw_store_live_both(), MW_LIVE(dumps_done), request);
	}
}

void mw_due_dumps_write_soon(void) {
	if (!mw_heap_wake_background())
		mw_due_dumps_write();
}

bool mw_due_dumps_any(void) {
	return atomic_load_explicit(&dumps.due, memory_order_relaxed) != 0;
}

void mw_due_dumps_request(uint32_t number) {
	atomic_store_explicit(&dumps.request, number, memory_order_relaxed);
	mw_due_dumps_add(MW_DUMP_order);
}

void mw_due_dumps_write_requested(void) {
	if (atomic_load_explicit(&dumps.due, memory_order_relaxed) & 1u << MW_DUMP_order)
		mw_due_dumps_write();
}

void mw_due_dumps_set_max(uint64_t max) {
	atomic_store_explicit(&dumps.max, max, memory_order_relaxed);
}

void mw_due_dumps_set_interval(uint64_t min_ns) {
	atomic_store_explicit(&dumps.min_ns, min_ns, memory_order_relaxed);
}

void mw_due_dumps_forked(void) {
	mw_dump_forked();
	atomic_store_explicit(&dumps.due, 0, memory_order_relaxed);
	for (size_t i = 0; i < MW_DUMP_REASON_COUNT; i++) {
		atomic_store_explicit(&dumps.reasons[i].count, 0, memory_order_relaxed);
		atomic_store_explicit(&dumps.reasons[i].not_before_ns, 0, memory_order_relaxed);
	}
}

static void on_dump_signal(int signal_number, bool from_outside) {
	(void)signal_number;
	(void)from_outside;
	/* A signal too soon after the last dump is dropped, because nothing would resume it. */
	if (mw_due_dumps_is_early(MW_DUMP_signal, mw_os_monotonic_ns()))
		return;
	mw_due_dumps_add(MW_DUMP_signal);
	mw_due_dumps_write();
}

MW_COLD bool mw_due_dumps_change_signal(mw_setting_t setting, uint64_t old, uint64_t fresh) {
	bool is_of_dumps = setting == MW_SETTING_dump_signal;
	uint64_t other =
		mw_triggers_value(is_of_dumps ? MW_SETTING_leak_signal : MW_SETTING_dump_signal);
	mw_os_handler_t handler = is_of_dumps ? on_dump_signal : mw_control_leaks_on_signal;
	if (fresh != 0 && (fresh == other || !mw_os_signal_take((int)fresh, handler)))
		return false;
	if (old != 0 && old != fresh)
		mw_os_signal_leave((int)old);
	return true;
}
