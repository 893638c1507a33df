/* SPDX-License-Identifier: MIT
 * test_pages.c -- the life of pages between threads, the real code, in orders that seeds fix:
 * frees of strangers meet refills, full pages, threads that end, orphans that are adopted, runs
 * that are given back, purges.
 *
 * Shown of each order: no two live blocks overlap, contents stay, and once all is freed and
 * all threads have ended, nothing is in use.  Bugs on purpose must be noticed.
 *
 * Usage: test_pages [FIRST_SEED [COUNT [swaps | locks]]] */
#include "points.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../torture/shadow.h"
#include "heap/chunk.h"
#include "heap/fast.h"
#include "heap/heap.h"
#include "heap/stats.h"
#include "os/clock.h"
#include "schedule.h"

enum { SLOTS = 40, STEPS = 120, DEFAULT_COUNT = 1500 };

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

/* Few blocks to the page, so that pages become full, empty and orphans all the time: 1 to 16 in 64
 * KiB, and classes whose blocks reach over slices; of 1 KiB a list of two goes on the shelf. */
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
	mw_fast_free(dropped.block);
}

static void end_heap(void) {
	mw_heap_thread_end();
	mw_thread = (mw_thread_t){0};
}

static void body(unsigned thread) {
	(void)thread;
	for (int i = 0; i < STEPS; i++) {
		slot_t *slot = &slots[schedule_draw(&random_state) % SLOTS];
		uint64_t choice = schedule_draw(&random_state) % 64;
		if (choice == 0) {
			end_heap();
		} else if (choice == 1) {
			clock_ns += (uint64_t)1 << 30; /* purges are due */
		} else if (choice == 2) {
			mw_heap_trim();
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
	mw_heap_trim(); /* what lies on the shelves */
	end_heap();
	TORTURE_MUST(shadow_claimed() == 0);
	mw_chunk_census_t census;
	mw_chunk_census(&census);
	TORTURE_MUST(census.live_bytes == 0);
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_stats(stats);
	TORTURE_MUST(stats[MW_STAT_orphan_pages] == 0);
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
	schedule_torn_swaps = argc > 3 && strcmp(argv[3], "swaps") == 0;
	schedule_open_locks = argc > 3 && strcmp(argv[3], "locks") == 0;
	static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGALRM};
	for (unsigned i = 0; i < 4; i++)
		signal(signals[i], name_seed);
	if (argc <= 1) {
		bug_is_noticed("compare-and-swap in two steps", &schedule_torn_swaps, count);
		bug_is_noticed("locks that anybody passes", &schedule_open_locks, count);
	}
	run_seeds(first, count);
	return 0;
}
