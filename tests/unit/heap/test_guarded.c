/* SPDX-License-Identifier: MIT
 * test_guarded.c -- which samples come between guard pages: each n-th, and none sooner than the gap
 * after another, which bounds what guarding costs; places are used in turns.  What is found with
 * them: tests/guarded/. */
#include "heap/misuse/guarded.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file/proc_maps.h"
#include "os/memory/map.h"
#include "os/platform/kernel_calls.h"
#include "os/time/clock.h"
#include "quiet_hooks.h"
#include "test.h"

enum { PLACES = 511 };

static uint64_t now_ns = 1000000000;

static uint64_t test_clock(void) {
	return now_ns;
}

static void start(uint64_t every, uint64_t gap_ns) {
	mw_os_clock_set_source(test_clock);
	CHECK(mw_guarded_start(&(mw_guarded_config_t){.every = every,
						      .gap_ns = gap_ns,
						      .take_stack = quiet_stack,
						      .name_place = quiet_name}));
}

static void give(void *block) {
	size_t class_bytes;
	CHECK_EQ(mw_guarded_give(block, &class_bytes), 7);
	CHECK_EQ(class_bytes, 64);
}

static void *take(void) {
	void *block = mw_guarded_take(64, 50);
	if (block) {
		memset(block, 1, 50);
		mw_guarded_bind(block, 7);
	}
	return block;
}

static void each_third(void) {
	start(3, 0);
	for (int i = 0; i < 3000; i++) {
		void *block = take();
		CHECK_EQ(block != NULL, i % 3 == 0);
		if (block)
			give(block);
	}
	CHECK_EQ(mw_guarded_stats().taken, 1000);
	CHECK_EQ(mw_guarded_stats().live, 0);
	size_t larger = 2 * mw_os_page_bytes();
	CHECK(mw_guarded_take(larger, larger - 100) == NULL);
}

/* However many samples there are: a hundred a second with a gap of 10 ms. */
static void none_within_the_gap(void) {
	enum { GAP_NS = 10000000, STEP_NS = 1370, SAMPLES = 1000000 };
	start(1, GAP_NS);
	uint64_t start_ns = now_ns, last_ns = 0;
	for (int i = 0; i < SAMPLES; i++, now_ns += STEP_NS) {
		void *block = take();
		if (!block)
			continue;
		CHECK(last_ns == 0 || now_ns - last_ns >= GAP_NS);
		last_ns = now_ns;
		give(block);
	}
	uint64_t gaps = (now_ns - start_ns) / GAP_NS;
	CHECK(mw_guarded_stats().taken <= gaps + 1);
	CHECK(mw_guarded_stats().taken >= gaps - 1);
}

/* All of the pool's, or fewer where each takes mappings (before Linux 6.13). */
static int count_places(void) {
	int share = (int)mw_os_mappings_max() / 256;
	size_t page = mw_os_page_bytes();
	int places = (int)((PLACES + 1) * (size_t)4096 / page) - 1;
	return mw_os_guard(mw_os_map(page), page) || share > places ? places : share;
}

/* All live: samples are ordinary ones.  A freed block's place is the last to be used again. */
static void places_are_used_in_turns(void) {
	start(1, 0);
	void *blocks[PLACES];
	int places = count_places();
	for (int i = 0; i < places; i++)
		CHECK((blocks[i] = take()) != NULL);
	CHECK(take() == NULL);
	CHECK_EQ(mw_guarded_stats().live, places);
	for (int i = 0; i < places; i++)
		give(blocks[i]);
	for (int i = 0; i < places; i++) {
		char *again = take();
		CHECK(again != NULL);
		/* One in four lies at the start of its page, so only the page is the same. */
		CHECK_EQ((uintptr_t)again / mw_os_page_bytes(),
			 (uintptr_t)blocks[i] / mw_os_page_bytes());
		give(again);
	}
}

/* There is one pool in a process. */
static void in_child(void (*test)(void), const char *name) {
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		test();
		printf("ok %s\n", name);
		fflush(stdout);
		_exit(0);
	}
	int status;
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

static unsigned count_mappings(void) {
	char line[512];
	unsigned count = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	CHECK(maps);
	while (fgets(line, sizeof line, maps))
		count += strchr(line, '\n') != NULL;
	fclose(maps);
	return count;
}

static bool refuse_marks;
static bool refuse_first(mw_os_call_t call) {
	bool refuses = refuse_marks && call == MW_OS_PROTECT;
	refuse_marks = refuse_marks && !refuses;
	return refuses;
}

/* A program that comes to the kernel's limit needs them itself. */
static void few_mappings_are_taken(unsigned most_mappings, unsigned least_blocks) {
	start(1, 0);
	unsigned before = count_mappings(), live = 0;
	void *blocks[PLACES];
	while (live < PLACES && (blocks[live] = take()) != NULL)
		live++;
	unsigned taken = count_mappings() - before;
	printf("# %u blocks take %u mappings\n", live, taken);
	CHECK(live >= least_blocks * (size_t)4096 / mw_os_page_bytes());
	CHECK(taken <= most_mappings);
	for (unsigned i = 0; i < live; i++)
		give(blocks[i]);
	CHECK_EQ(mw_guarded_stats().live, 0);
}

static void marks_take_no_mappings(void) {
	char *page = mw_os_map(4096);
	if (!mw_os_guard(page, 4096)) {
		printf("# skipped: the kernel has no MADV_GUARD_INSTALL\n");
		return;
	}
	few_mappings_are_taken(2, PLACES);
}

/* As before Linux 6.13. */
static void without_marks_a_share_is_taken(void) {
	refuse_marks = true;
	mw_os_fault_hook = refuse_first;
	unsigned most = mw_os_mappings_max() / 128;
	few_mappings_are_taken(most + 2, most / 2 < PLACES ? most / 2 : PLACES);
}

int main(void) {
	in_child(each_third, "each_third");
	in_child(none_within_the_gap, "none_within_the_gap");
	in_child(places_are_used_in_turns, "places_are_used_in_turns");
	in_child(marks_take_no_mappings, "marks_take_no_mappings");
	in_child(without_marks_a_share_is_taken, "without_marks_a_share_is_taken");
	return 0;
}
