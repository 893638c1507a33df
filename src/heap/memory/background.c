/* SPDX-License-Identifier: MIT
 * background.c -- sleeps until something is due or a tool has orders, and sees to it. */
#include "heap/memory/background.h"

#include "heap/arena/arena.h"
#include "heap/large/huge.h"
#include "heap/memory/chunk.h"
#include "heap/sample/sampling.h"
#include "heap/thread/cached_heap.h"
#include "os/lock/futex.h"
#include "os/lock/lock.h"
#include "os/time/clock.h"

/* The clock that says what is due moves in steps of up to 4 ms. */
#define CLOCK_STEP_NS ((uint64_t)5 * 1000 * 1000)

_Atomic uint32_t mw_background_state;
_Atomic uint32_t mw_background_sleeping;
static _Atomic bool wanted_by_hooks;
static _Atomic uint64_t turns, slept_ns; /* written by the thread alone; relaxed */

static bool change(uint32_t from, uint32_t to) {
	return atomic_compare_exchange_strong_explicit(&mw_background_state, &from, to,
						       memory_order_relaxed, memory_order_relaxed);
}

void mw_background_enable(void) {
	change(MW_BACKGROUND_OFF, MW_BACKGROUND_ENABLED);
}

MW_RESIDENT void mw_background_heap_grew(void) {
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

static uint64_t earlier(uint64_t a, uint64_t b) {
	return a < b ? a : b;
}

/* After the word it will sleep on was set: whoever wants a turn from now on changes that word. */
static bool run_wanted(void) {
	/* Sequentially consistent, with the stores in mw_background_wake_for_hooks(). */
	return atomic_exchange_explicit(&wanted_by_hooks, false, memory_order_seq_cst);
}

/* The word of the hooks that is polled at each refill (heap/sample/hooks.h), as it was before a
 * turn. */
typedef struct polled {
	_Atomic uint32_t *word;
	uint32_t value;
} polled_t;

static polled_t look(void) {
	/* Pairs with the release of whoever publishes the word. */
	_Atomic uint32_t *word = atomic_load_explicit(&mw_heap_poll_word, memory_order_acquire);
	return (polled_t){word, atomic_load_explicit(word, memory_order_relaxed)};
}

static void sleep_while(uint32_t value, polled_t polled, uint64_t timeout_ns) {
	uint64_t start_ns = mw_os_monotonic_ns();
	mw_os_wait_while_both(&mw_background_sleeping, value, polled.word, polled.value,
			      timeout_ns);
	atomic_fetch_add_explicit(&slept_ns, mw_os_monotonic_ns() - start_ns, memory_order_relaxed);
}

mw_background_stats_t mw_background_stats(void) {
	return (mw_background_stats_t){
		.turns = atomic_load_explicit(&turns, memory_order_relaxed),
		.slept_ns = atomic_load_explicit(&slept_ns, memory_order_relaxed),
	};
}

_Noreturn void mw_background_run(void) {
	for (;;) {
		atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed);
		polled_t polled = look();
		if (mw_cached_heap_is_due())
			mw_heap_maintain();
		mw_huge_purge(false);
		mw_chunk_purge(false);
		mw_arena_purge_each(false);
		uint64_t hooks_due = mw_sampling_background();
		/* Pairs with mw_background_notify(); in one order with
		 * mw_background_wake_for_hooks(). */
		atomic_exchange_explicit(&mw_background_sleeping, 1, memory_order_seq_cst);
		uint64_t due = earlier(mw_chunk_next_purge_ns(), mw_huge_next_purge_ns());
		uint64_t now = mw_os_monotonic_coarse_ns();
		due = earlier(due, hooks_due);
		due = earlier(due,
			      atomic_load_explicit(&mw_cached_heap_due_ns, memory_order_relaxed));
		if (due == UINT64_MAX) {
			if (!run_wanted())
				sleep_while(1, polled, UINT64_MAX);
			continue;
		}
		/* Whatever comes now is due later than this: no need to be woken. */
		atomic_store_explicit(&mw_background_sleeping, 0, memory_order_relaxed);
		if (due > now && !run_wanted())
			sleep_while(0, polled, due - now + CLOCK_STEP_NS);
	}
}

void mw_background_wake(void) {
	atomic_store_explicit(&mw_background_sleeping, 0, memory_order_relaxed);
	mw_os_wake(&mw_background_sleeping);
}

bool mw_background_wake_for_hooks(void) {
	if (!mw_background_is_running())
		return false;
	atomic_store_explicit(&wanted_by_hooks, true, memory_order_seq_cst);
	/* Neither of the values the thread sleeps on. */
	atomic_store_explicit(&mw_background_sleeping, 2, memory_order_seq_cst);
	mw_os_wake(&mw_background_sleeping);
	return true;
}

void mw_background_fork_child(void) {
	change(MW_BACKGROUND_RUNNING, MW_BACKGROUND_WANTED);
}
