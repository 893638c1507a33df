/* SPDX-License-Identifier: MIT
 * maintain.c -- trim, and the turns of the background thread. */
#include "heap/thread/maintain.h"

#include "heap/arena/arena.h"
#include "heap/large/huge.h"
#include "heap/layout/page.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/local/holes.h"
#include "heap/memory/background.h"
#include "heap/memory/chunk.h"
#include "heap/memory/limit.h"
#include "heap/remote/ownership.h"
#include "heap/sample/hooks.h"
#include "heap/sample/sampling.h"
#include "heap/sample/slot_cache.h"
#include "heap/thread/flush.h"
#include "heap/thread/thread.h"
#include "os/lock/futex.h"
#include "os/time/clock.h"

/* The clock that tells what is due moves in steps of up to 4 ms. */
#define CLOCK_STEP_NS ((uint64_t)5 * 1000 * 1000)

static _Atomic uint64_t turns, slept_ns; /* written by the background thread alone; relaxed */

size_t mw_heap_trim(void) {
	mw_heap_t *heap = mw_thread.heap;
	if (heap) {
		mw_harden_flush(&heap->harden);
		mw_slot_cache_unload(heap);
		mw_heap_flush_lists(heap);
		mw_heap_give_reserved(heap);
	}
	mw_heap_abandon_cached(false);
	size_t holes_bytes = 0;
	if (heap) {
		mw_heap_release_pages(heap);
		holes_bytes = mw_holes_make(heap);
	}
	return holes_bytes + mw_huge_purge(true) + mw_chunk_purge(true) + mw_arena_purge_each(true);
}

void mw_cached_heaps_maintain_slow(void) {
	if (mw_cached_heap_is_due())
		mw_heap_abandon_cached(true);
}

static uint64_t earlier(uint64_t a, uint64_t b) {
	return a < b ? a : b;
}

/* The hooks' word that each refill polls (heap/sample/hooks.h), and its value before a turn. */
typedef struct polled {
	_Atomic uint32_t *word;
	uint32_t value;
} polled_t;

static polled_t read_polled(void) {
	/* Pairs with the release of the thread that publishes the word. */
	_Atomic uint32_t *word = atomic_load_explicit(&mw_heap_poll_word, memory_order_acquire);
	return (polled_t){word, atomic_load_explicit(word, memory_order_relaxed)};
}

static void sleep_while(uint32_t value, polled_t polled, uint64_t timeout_ns) {
	uint64_t start_ns = mw_os_monotonic_ns();
	mw_os_wait_while_both(&mw_background_sleeping, value, polled.word, polled.value,
			      timeout_ns);
	atomic_fetch_add_explicit(&slept_ns, mw_os_monotonic_ns() - start_ns, memory_order_relaxed);
}

_Noreturn void mw_background_run(void) {
	for (;;) {
		atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed);
		polled_t polled = read_polled();
		mw_cached_heaps_maintain();
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
			if (!mw_background_take_request())
				sleep_while(1, polled, UINT64_MAX);
			continue;
		}
		/* Work that other threads add from now on is due later than `due`, so they need not
		 * wake this thread. */
		atomic_store_explicit(&mw_background_sleeping, 0, memory_order_relaxed);
		if (due > now && !mw_background_take_request())
			sleep_while(0, polled, due - now + CLOCK_STEP_NS);
	}
}

mw_background_stats_t mw_background_stats(void) {
	return (mw_background_stats_t){
		.turns = atomic_load_explicit(&turns, memory_order_relaxed),
		.slept_ns = atomic_load_explicit(&slept_ns, memory_order_relaxed),
	};
}
