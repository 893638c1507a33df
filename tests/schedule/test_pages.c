/* SPDX-License-Identifier: MIT
 * test_pages.c -- the life of pages between threads, the real code, in orders that seeds fix:
 * remote frees meet refills, full pages, threads that end, abandoned pages that are taken or
 * reclaimed, runs that are given back, forks.
 *
 * Shown of each order: no two live blocks overlap, contents stay, and once all is freed and
 * all threads have ended, nothing is in use.  The child of a fork can free everything and use the
 * heap.  Bugs on purpose must be noticed.
 *
 * Usage: test_pages [FIRST_SEED [COUNT [BUG]]]; BUG: swaps, locks, claims, full, last */
#include "remote_bugs.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../torture/shadow.h"
#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/core/resize.h"
#include "heap/stats/heap_walk.h"
#include "heap/stats/stats.h"
#include "heap/thread/cached_heap.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "os/time/clock.h"
#include "schedule.h"

enum { SLOTS = 40, STEPS = 120, DEFAULT_COUNT = 1500, FORK_RARITY = 16 };

typedef struct slot {
	unsigned char *block; /* NULL: free */
	size_t usable_bytes;
	uint64_t seed;
} slot_t;

/* Whoever has the baton may look: no step in here is a point. */
static slot_t slots[SLOTS];
static uint64_t seed_now, random_state, clock_ns = 1;

static uint64_t now(void) {
	return clock_ns;
}

/* What the orders met, summed over all of them. */
static struct { uint64_t ended, cached, trims, maintenances, forks, reclaims, batched; } met;
/* Few blocks to the page, so that pages become full, empty and abandoned all the time: 1 to 16 in
 * 64 KiB, and classes whose blocks reach over slices; of 1 KiB a batch holds two. */
static size_t draw_bytes(void) {
	static const size_t sizes[] = {4096,  8192,  16384, 20480, 32768,
				       40960, 65536, 48,    1024,  1024};
	return sizes[schedule_draw(&random_state) % (sizeof sizes / sizeof *sizes)];
}

static void make(slot_t *slot) {
	size_t bytes = draw_bytes();
	slot_t made = {.seed = schedule_draw(&random_state)};
	made.block = mw_heap_alloc(bytes);
	TORTURE_MUST(made.block != NULL);
	made.usable_bytes = mw_heap_usable_bytes(made.block);
	TORTURE_MUST(made.usable_bytes >= bytes);
	shadow_claim(made.block, made.usable_bytes);
	memcpy(made.block, &made.seed, sizeof made.seed);
	memcpy(made.block + made.usable_bytes - 8, &made.seed, sizeof made.seed);
	/* Others may have filled the slot while this thread was inside. */
	slot_t other = *slot;
	*slot = made;
	made = other;
	if (!made.block)
		return;
	TORTURE_MUST(memcmp(made.block, &made.seed, 8) == 0);
	TORTURE_MUST(memcmp(made.block + made.usable_bytes - 8, &made.seed, 8) == 0);
	shadow_release(made.block, made.usable_bytes);
	mw_fast_free(made.block);
}

static void drop(slot_t *slot) {
	slot_t dropped = *slot;
	*slot = (slot_t){NULL, 0, 0};
	if (!dropped.block)
		return;
	TORTURE_MUST(memcmp(dropped.block, &dropped.seed, 8) == 0);
	TORTURE_MUST(memcmp(dropped.block + dropped.usable_bytes - 8, &dropped.seed, 8) == 0);
	shadow_release(dropped.block, dropped.usable_bytes);
	mw_page_t *page = mw_page_of_slice((uintptr_t)dropped.block);
	bool full = page->state == MW_PAGE_FULL;
	mw_fast_free(dropped.block);
	/* Another thread may have run meanwhile: these are no more than counts. */
	met.reclaims += full && page->state == MW_PAGE_QUEUED;
	for (unsigned i = 0; mw_thread.heap && i < MW_REMOTE_BATCHES; i++)
		met.batched += mw_thread.heap->remote.batches[i].first == dropped.block;
}

static void end_heap(void) {
	mw_heap_t *heap = mw_thread.heap;
	mw_heap_thread_end();
	mw_thread = (mw_thread_t)MW_THREAD_INITIAL;
	met.ended++;
	met.cached += heap && heap->cached.waits;
}

/* So much later that cached heaps may be due. */
static void let_time_pass(void) {
	clock_ns += (uint64_t)1 << 30;
	if (!mw_cached_heap_is_due())
		return;
	met.maintenances++;
	mw_heap_abandon_cached(true);
}

/* What the only thread of a forked process does: frees all, uses memory, ends. */
static _Noreturn void live_alone(void) {
	alarm(20);
	schedule_alone();
	mw_heap_fork_child();
	for (int i = 0; i < SLOTS; i++)
		drop(&slots[i]);
	TORTURE_MUST(shadow_claimed() == 0);
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < SLOTS; i++)
			make(&slots[i]);
		let_time_pass();
		for (int i = 0; i < SLOTS; i++)
			drop(&slots[i]);
		if (turn == 1)
			end_heap();
	}
	TORTURE_MUST(shadow_claimed() == 0);
	mw_heap_trim();
	end_heap();
	_exit(0);
}

static void fork_now(void) {
	met.forks++;
	mw_heap_fork_prepare();
	pid_t pid = fork();
	if (pid == 0)
		live_alone();
	mw_heap_fork_parent();
	int status;
	TORTURE_MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	TORTURE_MUST(status == 0);
}

static void body(unsigned thread) {
	(void)thread;
	for (int i = 0; i < STEPS; i++) {
		slot_t *slot = &slots[schedule_draw(&random_state) % SLOTS];
		uint64_t choice = schedule_draw(&random_state) % 64;
		if (choice == 0) {
			end_heap();
		} else if (choice == 1) {
			let_time_pass();
		} else if (choice == 2) {
			met.trims++;
			mw_heap_trim();
		} else if (choice == 3 && schedule_draw(&random_state) % FORK_RARITY == 0) {
			fork_now();
		} else if (choice < 32) {
			make(slot);
		} else {
			drop(slot);
		}
	}
	end_heap();
}

static void run_seed(uint64_t seed) {
	seed_now = random_state = seed;
	schedule_run(seed, 2 + (unsigned)(seed % (SCHEDULE_THREADS_MAX - 1)), body);
	for (int i = 0; i < SLOTS; i++)
		drop(&slots[i]);
	mw_heap_trim(); /* cached heaps */
	end_heap();
	TORTURE_MUST(shadow_claimed() == 0);
	mw_heap_totals_t totals;
	mw_heap_totals(&totals);
	TORTURE_MUST(totals.live_bytes == 0);
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_stats(stats);
	TORTURE_MUST(stats[MW_STAT_abandoned_pages] == 0);
	TORTURE_MUST(stats[MW_STAT_live_threads] == 0);
	TORTURE_MUST(stats[MW_STAT_in_use_bytes] == 0);
}

static void name_seed(int signal_number) {
	char line[64];
	int length = snprintf(line, sizeof line, "signal %d with seed %llu\n", signal_number,
			      (unsigned long long)seed_now);
	ssize_t written = write(STDERR_FILENO, line, (size_t)length);
	(void)written;
	_exit(1);
}

static void run_seeds(uint64_t first, uint64_t count) {
	shadow_init();
	mw_os_clock_set_source(now);
	for (uint64_t seed = first; seed < first + count; seed++)
		run_seed(seed);
	printf("%llu orders, %llu switches between threads\n", (unsigned long long)count,
	       (unsigned long long)schedule_switches());
}

/* Every event that this test is about was met. */
static void all_was_met(void) {
	mw_heap_counts_t counts;
	mw_heap_sum_counts(&counts);
	uint64_t reclaimed = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		reclaimed += counts.reclaimed[c];
	const struct {
		const char *what;
		uint64_t times;
	} events[] = {{"threads that ended", met.ended},
		      {"heaps that were cached", met.cached},
		      {"blocks that began or joined a batch", met.batched},
		      {"abandoned pages that got another owner", reclaimed},
		      {"full pages that a free took", met.reclaims},
		      {"trims", met.trims},
		      {"maintenances that were due", met.maintenances},
		      {"forks", met.forks}};
	for (unsigned i = 0; i < sizeof events / sizeof *events; i++) {
		printf("%s: %llu\n", events[i].what, (unsigned long long)events[i].times);
		TORTURE_MUST(events[i].times > 0);
	}
}

/* Some order among the first shows the bug, in a process of its own. */
static void bug_is_noticed(const char *what, bool *bug, uint64_t count) {
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		close(STDERR_FILENO);
		close(STDOUT_FILENO);
		*bug = true;
		/* One that makes it run in circles is noticed as well. */
		alarm(20);
		run_seeds(1, count);
		_exit(0);
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status == 0) {
		fprintf(stderr, "%s: not noticed\n", what);
		exit(1);
	}
	printf("%s: noticed\n", what);
}

int main(int argc, char **argv) {
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : DEFAULT_COUNT;
	static const struct {
		const char *name, *what;
		bool *flag;
	} bugs[] = {{"swaps", "compare-and-swap in two steps", &schedule_torn_swaps},
		    {"locks", "locks that anybody passes", &schedule_open_locks},
		    {"claims", "flags cleared after the push", &schedule_late_claims},
		    {"full", "full pages given up unseen", &schedule_full_unseen},
		    {"last", "pages listed after their last block", &schedule_last_unseen}};
	enum { BUGS = sizeof bugs / sizeof *bugs };
	for (unsigned i = 0; argc > 3 && i < BUGS; i++)
		*bugs[i].flag = strcmp(argv[3], bugs[i].name) == 0;
	static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGALRM};
	for (unsigned i = 0; i < 4; i++)
		signal(signals[i], name_seed);
	for (unsigned i = 0; argc <= 1 && i < BUGS; i++)
		bug_is_noticed(bugs[i].what, bugs[i].flag, count);
	run_seeds(first, count);
	if (argc <= 1)
		all_was_met();
	return 0;
}
