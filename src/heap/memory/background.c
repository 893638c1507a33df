/* SPDX-License-Identifier: MIT
 * background.c -- whether there is a background thread, and how others wake it. */
#include "heap/memory/background.h"

#include "os/lock/futex.h"

_Atomic uint32_t mw_background_state;
_Atomic uint32_t mw_background_sleeping;
static _Atomic bool wanted_by_hooks;

static bool change(uint32_t from, uint32_t to) {
	return atomic_compare_exchange_strong_explicit(&mw_background_state, &from, to,
						       memory_order_relaxed, memory_order_relaxed);
}

void mw_background_enable(void) {
	change(MW_BACKGROUND_OFF, MW_BACKGROUND_ENABLED);
}

void mw_background_heap_grew(void) {
	if (atomic_load_explicit(&mw_background_state, memory_order_relaxed) ==
	    MW_BACKGROUND_ENABLED)
		change(MW_BACKGROUND_ENABLED, MW_BACKGROUND_WANTED);
}

bool mw_background_claim(void) {
	return change(MW_BACKGROUND_WANTED, MW_BACKGROUND_RUNNING);
}

void mw_background_refused(void) {
	change(MW_BACKGROUND_RUNNING, MW_BACKGROUND_OFF);
}

void mw_background_wake(void) {
	atomic_store_explicit(&mw_background_sleeping, 0, memory_order_relaxed);
	mw_os_wake(&mw_background_sleeping);
}

bool mw_background_wake_for_hooks(void) {
	if (!mw_background_is_running())
		return false;
	atomic_store_explicit(&wanted_by_hooks, true, memory_order_seq_cst);
	/* The thread sleeps on the values 0 and 1 only. */
	atomic_store_explicit(&mw_background_sleeping, 2, memory_order_seq_cst);
	mw_os_wake(&mw_background_sleeping);
	return true;
}

bool mw_background_take_request(void) {
	/* Sequentially consistent, with the stores in mw_background_wake_for_hooks(). */
	return atomic_exchange_explicit(&wanted_by_hooks, false, memory_order_seq_cst);
}

void mw_background_fork_child(void) {
	change(MW_BACKGROUND_RUNNING, MW_BACKGROUND_WANTED);
}
