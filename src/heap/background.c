/* SPDX-License-Identifier: MIT
 * background.c -- sleeps on a futex until something is due, purges it. */
#include "heap/background.h"

#include "heap/chunk.h"
#include "heap/huge.h"
#include "os/clock.h"
#include "os/lock.h"

/* The clock that says what is due moves in steps of up to 4 ms. */
#define CLOCK_STEP_NS ((uint64_t)5 * 1000 * 1000)

_Atomic uint32_t mw_background_state;
_Atomic uint32_t mw_background_sleeping;

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

static uint64_t next_due_ns(void) {
	uint64_t chunk = mw_chunk_next_purge_ns(), huge = mw_huge_next_purge_ns();
	return chunk < huge ? chunk : huge;
}

_Noreturn void mw_background_run(void) {
	for (;;) {
		mw_huge_purge(false);
		mw_chunk_purge(false);
		/* Pairs with mw_background_notify(). */
		atomic_exchange_explicit(&mw_background_sleeping, 1, memory_order_acq_rel);
		uint64_t due = next_due_ns(), now = mw_os_monotonic_coarse_ns();
		if (due == UINT64_MAX) {
			mw_os_wait_while(&mw_background_sleeping, 1, UINT64_MAX);
			continue;
		}
		/* Whatever comes now is due later than this: no need to be woken. */
		atomic_store_explicit(&mw_background_sleeping, 0, memory_order_relaxed);
		if (due > now)
			mw_os_wait_while(&mw_background_sleeping, 0, due - now + CLOCK_STEP_NS);
	}
}

void mw_background_wake(void) {
	atomic_store_explicit(&mw_background_sleeping, 0, memory_order_relaxed);
	mw_os_wake(&mw_background_sleeping);
}

void mw_background_fork_child(void) {
	change(MW_BACKGROUND_RUNNING, MW_BACKGROUND_WANTED);
}
