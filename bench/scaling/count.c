/* SPDX-License-Identifier: MIT
 * count.c -- counters a rank, written to stderr when the process ends, one line each:
 * "count RANK TIMES CONTENDED HELD_NS LONG". */
#define COUNT_ITSELF
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#include "count.h"
#include "heap/layout/page.h"
#include "heap/layout/remote_word.h"

static const char *const rank_names[] = {
	[MW_RANK_CONTROL] = "control", [MW_RANK_SAMPLED] = "sampled",
	[MW_RANK_HEAPS] = "heaps",     [MW_RANK_ABANDONED] = "abandoned",
	[MW_RANK_HUGE] = "huge",       [MW_RANK_CHUNKS] = "chunks",
	[MW_RANK_MODULES] = "modules", [MW_RANK_META] = "meta",
	[MW_RANK_GUARDED] = "guarded",
};
enum { RANKS = sizeof rank_names / sizeof *rank_names };

/* Relaxed all: read when the process ends.  A line each. */
static struct {
	_Alignas(64) _Atomic uint64_t times;
	_Atomic uint64_t contended, held_cycles, long_holds;
} ranks[RANKS];
static _Alignas(64) _Atomic uint64_t pushes;
static _Atomic uint64_t pushed_blocks;

/* Some 10 us: no holder works so long, it waits for the processor or for the kernel's memory.  With
 * more threads than processors that says nothing about the lock: counted apart. */
#define LONG_CYCLES 26000u

static __thread uint64_t since[RANKS]; /* 0: taken by a mere attempt, which is not counted */
static uint64_t start_cycles, start_ns;

static uint64_t now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void count_acquire(mw_lock_t *lock, mw_lock_rank_t rank) {
	if (atomic_load_explicit(&lock->state, memory_order_relaxed) != 0)
		atomic_fetch_add_explicit(&ranks[rank].contended, 1, memory_order_relaxed);
	mw_lock_acquire(lock, rank);
	since[rank] = __rdtsc();
}

void count_release(mw_lock_t *lock, mw_lock_rank_t rank) {
	uint64_t from = since[rank], held = __rdtsc() - from;
	since[rank] = 0;
	mw_lock_release(lock, rank);
	if (from == 0)
		return;
	atomic_fetch_add_explicit(&ranks[rank].times, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(held < LONG_CYCLES ? &ranks[rank].held_cycles
						     : &ranks[rank].long_holds,
				  held < LONG_CYCLES ? held : 1, memory_order_relaxed);
}

uint64_t count_push(mw_page_t *page, void *first, void *last, uint32_t count) {
	atomic_fetch_add_explicit(&pushes, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&pushed_blocks, count, memory_order_relaxed);
	return mw_remote_push(page, first, last, count);
}

__attribute__((constructor)) static void begin(void) {
	start_cycles = __rdtsc();
	start_ns = now_ns();
}

__attribute__((destructor)) static void report(void) {
	double ns_per_cycle = (double)(now_ns() - start_ns) / (double)(__rdtsc() - start_cycles);
	for (int i = 1; i < RANKS; i++)
		fprintf(stderr, "count %s %lu %lu %.0f %lu\n", rank_names[i],
			atomic_load(&ranks[i].times), atomic_load(&ranks[i].contended),
			(double)atomic_load(&ranks[i].held_cycles) * ns_per_cycle,
			atomic_load(&ranks[i].long_holds));
	fprintf(stderr, "count pushes %lu %lu 0 0\n", atomic_load(&pushes),
		atomic_load(&pushed_blocks));
}
