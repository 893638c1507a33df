/* SPDX-License-Identifier: MIT
 * test_lifetimes.c -- what is kept of a stack besides its sums: the share at the peak, lifetimes,
 * who freed, and the names of threads. */
#include <pthread.h>
#include <sys/prctl.h>

#include "os/file/proc.h"
#include "os/time/clock.h"
#include "prof/table/depot.h"
#include "prof/table/records.h"
#include "prof_fixture.h"

enum { STACKS = 40, BLOCKS = 3000 };

static uint64_t now_ns = 1000000000;

static uint64_t test_clock(void) {
	return now_ns;
}

static unsigned objects = 3; /* that a sample stands for */

static mw_record_id_t add(uint32_t stack, uint64_t bytes) {
	mw_sample_t sample = {.stack = stack,
			      .thread_id = 7,
			      .address = 4096,
			      .requested_bytes = bytes,
			      .usable_bytes = bytes,
			      .weight_q16 = objects * 65536,
			      .time_ns = now_ns};
	return mw_records_add(&sample);
}

static void take(mw_record_id_t record, uint32_t thread_id, bool temporary) {
	mw_records_remove(
		record,
		&(mw_release_t){.time_ns = now_ns, .thread_id = thread_id, .temporary = temporary});
}

static void make_stacks(void) {
	CHECK_EQ(mw_store_take(MW_SECTION_STACKS, STACKS), 1);
}

/* What a reader takes for the share of a stack at the peak. */
static int64_t peak_of(char *base, uint32_t stack) {
	mw_state_live_t *live = section_of(base, MW_SECTION_LIVE);
	mw_state_stack_t *entry = stack_entry(base, stack);
	return entry->peak_number == live->peak_number ? entry->peak_bytes : entry->live_bytes;
}

static int64_t live_of[STACKS + 1], at_peak[STACKS + 1];

/* Against a model that copies everything at each maximum. */
static void the_peak_is_that_of_a_full_copy(void) {
	start(1, 0, false);
	make_stacks();
	char *bases[] = {store_base(), map_state_of(getpid())};
	static mw_record_id_t held[BLOCKS];
	static uint32_t stack_of_block[BLOCKS];
	int64_t live = 0, peak = 0;
	uint32_t peaks = 0, numbers = 0;
	uint64_t random = 12345;
	for (int turn = 0; turn < 60000; turn++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		unsigned i = (unsigned)(random >> 33) % BLOCKS;
		/* Waves, so that the last maximum lies well back. */
		bool grow = (turn / 7000) % 2 == 0 || turn % 3 == 0;
		if (held[i] && !grow) {
			take(held[i], 7, false);
			live_of[stack_of_block[i]] -= 3 * (100 + (int)i);
			live -= 3 * (100 + (int)i);
			held[i] = 0;
		} else if (!held[i] && grow) {
			uint32_t stack = (uint32_t)(random >> 20) % (STACKS + 1);
			held[i] = add(stack, 100 + i);
			stack_of_block[i] = stack;
			live_of[stack] += 3 * (100 + (int)i);
			live += 3 * (100 + (int)i);
			if (live > peak) {
				peak = live;
				peaks++;
				memcpy(at_peak, live_of, sizeof at_peak);
			}
		}
		if (turn % 1000 != 0)
			continue;
		for (int k = 0; k < 2; k++) {
			mw_state_live_t *page = section_of(bases[k], MW_SECTION_LIVE);
			CHECK_EQ(page->peak_bytes, peak);
			for (uint32_t s = 0; s <= STACKS; s++)
				CHECK_EQ(peak_of(bases[k], s), at_peak[s]);
		}
	}
	numbers = mw_store_live()->peak_number;
	CHECK(peaks > 20 && live < peak);
	/* One for each rise that follows a change that was none. */
	CHECK(numbers > 1 && numbers < peaks);
	mw_prof_reset();
	CHECK_EQ(mw_store_live()->peak_bytes, 0);
	for (uint32_t s = 0; s <= STACKS; s++)
		CHECK_EQ(peak_of(bases[1], s), 0);
}

static mw_state_lifetimes_t *lifetimes_of(char *base, uint32_t stack) {
	mw_state_stack_t *entry = stack_entry(base, stack);
	return lifetimes_entry(base, entry->lifetimes);
}

static void lifetimes_are_counted(void) {
	start(1, 0, false);
	make_stacks();
	char *bases[] = {store_base(), map_state_of(getpid())};
	static const struct {
		uint64_t ns;
		int decade;
	} cases[] = {{0, 0},
		     {999, 0},
		     {1000, 1},
		     {9999, 1},
		     {10000, 2},
		     {99999, 2},
		     {100000, 3},
		     {123456, 3},
		     {999999, 3},
		     {1000000, 4},
		     {5000000, 4},
		     {99999999, 5},
		     {100000000, 6},
		     {999999999, 6},
		     {1000000000, 7},
		     {9999999999, 7},
		     {10000000000, 8},
		     {99999999999, 8},
		     {100000000000, 9},
		     {999999999999, 9},
		     {1000000000000, 10},
		     {90000000000000, 10}};
	int64_t decades[MW_LIFETIME_DECADES] = {0}, us = 0, temporary = 0;
	enum { CASES = sizeof cases / sizeof *cases };
	for (unsigned i = 0; i < CASES; i++) {
		objects = i % 2 ? 1 : 3;
		mw_record_id_t record = add(5, 64);
		CHECK_EQ(record, 1);
		now_ns += cases[i].ns;
		take(record, i % 2 ? 7 : 8, i % 3 == 0);
		decades[cases[i].decade] += objects * 65536;
		us += objects * (int64_t)((cases[i].ns + 500) / 1000);
		temporary += i % 3 == 0 ? objects * 65536 : 0;
	}
	for (int k = 0; k < 2; k++) {
		const mw_state_lifetimes_t *lifetimes = lifetimes_of(bases[k], 5);
		CHECK_EQ(lifetimes->samples, CASES);
		CHECK_EQ(lifetimes->object_us, us);
		CHECK_EQ(lifetimes->other_thread_q16, CASES / 2 * 3 * 65536);
		CHECK_EQ(lifetimes->temporary_q16, temporary);
		for (int d = 0; d < MW_LIFETIME_DECADES; d++)
			CHECK_EQ(lifetimes->decades_q16[d], decades[d]);
	}
	objects = 3;
	/* A clock that went back is no lifetime of centuries. */
	mw_record_id_t record = add(6, 64);
	now_ns -= 5000;
	take(record, 7, false);
	CHECK_EQ(lifetimes_of(bases[0], 6)->object_us, 0);
	CHECK_EQ(mw_store_live()->lifetimes_used, 3);
	mw_prof_reset();
	CHECK_EQ(lifetimes_of(bases[1], 5)->samples, 0);
	CHECK_EQ(lifetimes_of(bases[1], 5)->object_us, 0);
}

static _Atomic uint32_t named_thread_id; /* of the thread that name_thread() named last */

static void *name_thread(void *argument) {
	fake_thread_t mine;
	bool sampled;
	named_thread_id = mw_os_thread_id();
	fake_thread_start(&mine);
	fake_small(&mine, 1, &mine, 32, 32, &sampled);
	/* Named after its first sample, as threads are. */
	CHECK_EQ(prctl(PR_SET_NAME, argument), 0);
	now_ns += 2000000000;
	fake_small(&mine, 1, &mine, 32, 32, &sampled);
	CHECK(sampled);
	return NULL;
}

static void threads_have_names(void) {
	start(1, 0, false);
	enum { THREADS = 1100 }; /* once round the ring of 1024 */
	for (int i = 0; i < THREADS; i++) {
		char name[16];
		pthread_t id;
		snprintf(name, sizeof name, "worker-%d", i);
		CHECK_EQ(pthread_create(&id, NULL, name_thread, name), 0);
		CHECK_EQ(pthread_join(id, NULL), 0);
	}
	char *file = map_state_of(getpid());
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	CHECK_EQ(live->threads_written, THREADS);
	CHECK_STR(thread_entry(file, (THREADS - 1) % 1024)->name, "worker-1099");
	CHECK_STR(thread_entry(file, 100)->name, "worker-100");
	CHECK_STR(thread_entry(file, 0)->name, "worker-1024");
	CHECK_EQ(thread_entry(file, (THREADS - 1) % 1024)->thread_id, named_thread_id);
}

/* Private memory of the tables for a live sample, and for a stack of 30 frames, as a program's
 * calls make them: behind 15 frames that all have, each function calls one of two, so that 20,000
 * paths have 600,000 frames in all, but some 50,000 nodes.  A stack of which a sample was freed has
 * a life, too.  In the published copy, each costs as much again in the state file. */
static void samples_and_stacks_are_small(void) {
	enum { SAMPLES = 100000, DISTINCT = 20000, DEPTH = 30 };
	static uint32_t stacks[DISTINCT];
	start(1, 0, false);
	for (uint64_t i = 0; i < DISTINCT; i++) {
		uint64_t frames[DEPTH];
		for (uint64_t k = 0; k < DEPTH; k++)
			frames[DEPTH - 1 - k] = k << 32 | (k < 15 ? 0 : i >> (k - 15) & 1);
		stacks[i] = mw_depot_find(frames, DEPTH, false);
		CHECK(stacks[i] != 0 && mw_depot_depth(stacks[i]) == DEPTH);
		take(add(stacks[i], 64), 7, false);
	}
	for (int i = 0; i < SAMPLES; i++) {
		CHECK(add(stacks[i % DISTINCT], 64) != 0);
	}
	double each = (double)mw_store_used_bytes(MW_SECTION_RECORDS) / SAMPLES;
	double stack = (double)(mw_store_used_bytes(MW_SECTION_STACKS) +
				mw_store_used_bytes(MW_SECTION_NODES) +
				mw_store_used_bytes(MW_SECTION_FRAMES)) /
		       DISTINCT;
	double life = (double)mw_store_used_bytes(MW_SECTION_LIFETIMES) / DISTINCT;
	printf("# a live sample %.1f bytes, a stack of %d frames %.1f, and its life %.1f\n", each,
	       DEPTH, stack, life);
	CHECK(each <= 160);
	CHECK(stack <= 200);
	CHECK(life <= 129);
}

int main(void) {
	mw_os_clock_set_source(test_clock);
	RUN_IN_CHILD(the_peak_is_that_of_a_full_copy);
	RUN_IN_CHILD(lifetimes_are_counted);
	RUN_IN_CHILD(threads_have_names);
	RUN_IN_CHILD(samples_and_stacks_are_small);
	return 0;
}
