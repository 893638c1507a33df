/* SPDX-License-Identifier: MIT
 * test_depot.c -- stacks are found again, by many threads too, and what happens when tables are
 * full: nothing is lost, the flags say so. */
#include "prof/table/depot.h"

#include <pthread.h>
#include <sys/resource.h>

#include "prof/table/records.h"
#include "prof_fixture.h"

static const mw_state_stack_t *stack_at(uint32_t number) {
	return mw_store_private(MW_SECTION_STACKS, number);
}

/* The stack is just these frames. */
static bool has_frames(uint32_t number, const uint64_t *frames, unsigned depth) {
	uint32_t node = stack_at(number)->node;
	unsigned i = 0;
	for (; i < depth && node != 0; i++)
		if (mw_depot_frame(mw_depot_next_frame(&node)) != frames[i])
			return false;
	return i == depth && node == 0 && stack_at(number)->depth == depth;
}

enum { DEPTH_OF_SUMS = 20 };

static void make_tables(void) {
	CHECK(mw_store_start());
	mw_depot_start();
}

static void equal_stacks_have_one_number(void) {
	make_tables();
	uint64_t frames[64];
	for (unsigned i = 0; i < 64; i++)
		frames[i] = (uint64_t)1 << 48 | i;
	uint32_t numbers[64];
	for (unsigned depth = 1; depth <= 64; depth++)
		numbers[depth - 1] = mw_depot_find(frames, depth, false);
	for (unsigned depth = 1; depth <= 64; depth++) {
		uint32_t number = numbers[depth - 1];
		CHECK_EQ(number, depth);
		CHECK_EQ(mw_depot_find(frames, depth, false), number);
		CHECK_EQ(stack_at(number)->flags, 0);
		CHECK(has_frames(number, frames, depth));
	}
	uint32_t cut = mw_depot_find(frames, 64, true);
	CHECK(cut == 65 && stack_at(cut)->flags == MW_STACK_TRUNCATED);
	CHECK_EQ(mw_depot_find(frames, 0, false), 0);
	frames[63]++;
	CHECK_EQ(mw_depot_find(frames, 64, false), 66);
}

/* The sum of the outer frames is kept by who takes stacks that share them. */
static void stacks_are_found_by_their_sums(void) {
	make_tables();
	uint64_t leaf_first[DEPTH_OF_SUMS], outermost_first[DEPTH_OF_SUMS];
	uint64_t sum = MW_DEPOT_SUM_START;
	for (unsigned i = 0; i < DEPTH_OF_SUMS; i++) {
		uint64_t frame = (uint64_t)1 << 48 | i;
		outermost_first[i] = leaf_first[DEPTH_OF_SUMS - 1 - i] = frame;
		sum = mw_depot_sum(sum, frame);
		mw_depot_path_t path = {
			.outermost = outermost_first, .inwards = 1, .sum = sum, .depth = i + 1};
		uint32_t number = mw_depot_find_path(&path);
		CHECK_EQ(number, i + 1);
		const uint64_t *leaf = &leaf_first[DEPTH_OF_SUMS - 1 - i];
		CHECK(has_frames(number, leaf, i + 1));
		CHECK_EQ(mw_depot_find(leaf, i + 1, false), number);
	}
}

enum { THREADS = 8, STACKS = 2000, DEPTH = 12 };

/* Of few callers each: the threads meet at new frames and nodes, too. */
static void fill(uint64_t *frames, unsigned seed) {
	frames[0] = seed;
	for (unsigned i = 1; i < DEPTH; i++)
		frames[i] = (seed * 2654435761u >> (i % 4)) % 1024 + i;
}

static uint32_t found[THREADS][STACKS];

static void *insert_all(void *argument) {
	size_t me = (size_t)argument;
	for (unsigned turn = 0; turn < 3; turn++)
		for (unsigned k = 0; k < STACKS; k++) {
			/* Each thread in an order of its own, so that they meet at new stacks. */
			unsigned stack = (k * 7 + (unsigned)me * 1009 * turn) % STACKS;
			uint64_t frames[DEPTH];
			fill(frames, stack);
			uint32_t number = mw_depot_find(frames, DEPTH, false);
			CHECK(number != 0);
			CHECK(found[me][stack] == 0 || found[me][stack] == number);
			found[me][stack] = number;
		}
	return NULL;
}

static void threads_agree(void) {
	make_tables();
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, insert_all, (void *)i) == 0);
	for (size_t i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (unsigned k = 0; k < STACKS; k++) {
		uint64_t frames[DEPTH];
		fill(frames, k);
		for (int i = 1; i < THREADS; i++)
			CHECK_EQ(found[i][k], found[0][k]);
		CHECK(has_frames(found[0][k], frames, DEPTH));
	}
	/* Lost races leave entries without counts: few, in an emulator one a stack. */
	CHECK(mw_store_live()->stacks_used < 1 + STACKS * 3);
	CHECK_EQ(mw_store_live()->flags, 0);
}

/* As many stacks as the section holds: all find a slot, and are found again. */
static void all_of_a_full_table_are_found(void) {
	make_tables();
	uint64_t capacity = mw_store_header()->sections[MW_SECTION_STACKS].capacity;
	for (int turn = 0; turn < 2; turn++)
		for (uint64_t k = 1; k < capacity; k++) {
			uint64_t frames[] = {k, k * k};
			CHECK_EQ(mw_depot_find(frames, 2, false), k);
		}
	CHECK_EQ(mw_store_live()->flags, 0);
	uint64_t frame = 1;
	CHECK_EQ(mw_depot_find(&frame, 1, false), 0);
	CHECK_EQ(mw_store_live()->flags, MW_STATE_STACKS_FULL);
}

static void limit_files(rlim_t bytes) {
	struct rlimit limit = {bytes, RLIM_INFINITY};
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void small_tables(void) {
	/* The profile table is never larger than the largest file: the smallest capacities. */
	limit_files(700 << 10);
	make_tables();
	CHECK_EQ(mw_store_header()->sections[MW_SECTION_STACKS].capacity, 128);
	CHECK_EQ(mw_store_header()->sections[MW_SECTION_NODES].capacity, 4096);
	CHECK_EQ(mw_store_header()->sections[MW_SECTION_FRAMES].capacity, 1024);
	CHECK_EQ(mw_store_header()->sections[MW_SECTION_RECORDS].capacity, 4096);
}

/* Stacks that have callers in common keep those once, and a frame has one number wherever it
 * stands. */
static void callers_are_shared(void) {
	make_tables();
	const mw_state_live_t *live = mw_store_live();
	uint64_t frames[30], nodes = live->nodes_used;
	for (unsigned i = 0; i < 30; i++)
		frames[i] = (uint64_t)1 << 48 | (1000 + i);
	for (unsigned k = 0; k < 100; k++) {
		frames[0] = (uint64_t)1 << 48 | k;
		CHECK(has_frames(mw_depot_find(frames, 30, false), frames, 30));
	}
	CHECK_EQ(live->nodes_used, nodes + 29 + 100);
	CHECK_EQ(live->frames_used, 1 + 29 + 100);
	/* The same frames the other way round: other nodes. */
	for (unsigned i = 0; i < 15; i++) {
		uint64_t frame = frames[i];
		frames[i] = frames[29 - i];
		frames[29 - i] = frame;
	}
	CHECK(has_frames(mw_depot_find(frames, 30, false), frames, 30));
	CHECK_EQ(live->nodes_used, nodes + 29 + 100 + 30);
	CHECK_EQ(live->frames_used, 1 + 29 + 100);
}

static void full_nodes_cut_to_the_leaf(void) {
	small_tables();
	uint64_t frames[100];
	for (unsigned k = 0; k < 38; k++) {
		for (unsigned i = 0; i < 100; i++)
			frames[i] = 1000 + k * (i > 0) + i;
		CHECK_EQ(mw_depot_find(frames, 100, false), k + 1);
	}
	/* 296 nodes are left, 256 of which are for leaves: the 39th stack of 100 does not fit. */
	CHECK_EQ(mw_store_live()->flags, 0);
	frames[99] = 7;
	uint32_t number = mw_depot_find(frames, 100, false);
	CHECK_EQ(mw_store_live()->flags, MW_STATE_FRAMES_FULL);
	CHECK_EQ(stack_at(number)->flags, MW_STACK_TRUNCATED);
	CHECK(has_frames(number, frames, 1));
	frames[99] = 8;
	CHECK_EQ(mw_depot_find(frames, 100, false), number);
}

static void full_frames_cut_to_the_leaf(void) {
	small_tables();
	uint64_t frames[96];
	for (unsigned k = 0; k < 10; k++) {
		for (unsigned i = 0; i < 96; i++)
			frames[i] = 1 + 96 * k + i;
		CHECK_EQ(mw_depot_find(frames, 96, false), k + 1);
	}
	/* Of 1024 entries, entry 0 and 64 for leaves are not for the tenth stack. */
	CHECK_EQ(mw_store_live()->flags, MW_STATE_FRAMES_FULL);
	CHECK(has_frames(10, frames, 1));
}

static void full_stacks_are_unknown(void) {
	small_tables();
	for (uint64_t k = 1; k < 128; k++)
		CHECK_EQ(mw_depot_find(&k, 1, false), k);
	uint64_t frame = 4711;
	CHECK_EQ(mw_depot_find(&frame, 1, false), 0);
	CHECK_EQ(mw_store_live()->flags, MW_STATE_STACKS_FULL);
	frame = 5;
	CHECK_EQ(mw_depot_find(&frame, 1, false), 5);
}

static void full_records_count_as_allocated(void) {
	small_tables();
	mw_sample_t sample = {
		.address = 16, .requested_bytes = 10, .usable_bytes = 16, .weight_q16 = 65536};
	for (unsigned i = 1; i < 4096; i++)
		CHECK_EQ(mw_records_add(&sample), i);
	CHECK_EQ(mw_store_live()->flags, 0);
	CHECK_EQ(mw_records_add(&sample), 0);
	CHECK_EQ(mw_store_live()->flags, MW_STATE_RECORDS_FULL);
	CHECK_EQ(mw_store_live()->alloc_bytes, 4096 * 16);
	CHECK_EQ(mw_store_live()->live_bytes, 4095 * 16);
	const mw_release_t release = {0};
	mw_records_remove(0, &release);
	mw_records_remove(100, &release);
	mw_records_remove(100, &release); /* a stray second time does no harm */
	CHECK_EQ(mw_records_add(&sample), 100);
	CHECK_EQ(mw_store_live()->live_bytes, 4095 * 16);
}

/* With an address space limit the tables take their share of it only, also when they grow. */
static void small_address_space(void) {
	if (TEST_UNDER_SANITIZER) {
		printf("# skipped: a sanitizer needs the address space\n");
		return;
	}
	struct rlimit limit = {(rlim_t)1 << 30, RLIM_INFINITY}, held;
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	CHECK(getrlimit(RLIMIT_AS, &held) == 0);
	if (TEST_SLOWNESS > 1 && held.rlim_cur != limit.rlim_cur) {
		printf("# skipped: this emulator keeps no limit of the address space\n");
		return;
	}
	make_tables();
	CHECK(mw_store_mapped_bytes() <= ((uint64_t)1 << 30) / 32);
	mw_sample_t sample = {
		.address = 16, .requested_bytes = 10, .usable_bytes = 16, .weight_q16 = 65536};
	for (unsigned i = 1; i < 1000000; i++) {
		mw_records_add(&sample);
	}
	CHECK(mw_store_mapped_bytes() <= ((uint64_t)1 << 30) / 32);
	CHECK(mw_store_mapped_bytes() > ((uint64_t)1 << 30) / 128);
	CHECK_EQ(mw_store_live()->flags, MW_STATE_RECORDS_FULL);
	limit.rlim_cur = 64 << 20;
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void tables_are_small_at_first(void) {
	make_tables();
	CHECK(mw_store_mapped_bytes() < 64 << 10);
	CHECK_EQ(mw_store_header()->sections[MW_SECTION_RECORDS].capacity, 1 << 22);
}

int main(void) {
	RUN_IN_CHILD(equal_stacks_have_one_number);
	RUN_IN_CHILD(stacks_are_found_by_their_sums);
	RUN_IN_CHILD(threads_agree);
	RUN_IN_CHILD(all_of_a_full_table_are_found);
	RUN_IN_CHILD(callers_are_shared);
	RUN_IN_CHILD(full_nodes_cut_to_the_leaf);
	RUN_IN_CHILD(full_frames_cut_to_the_leaf);
	RUN_IN_CHILD(full_stacks_are_unknown);
	RUN_IN_CHILD(full_records_count_as_allocated);
	RUN_IN_CHILD(small_address_space);
	RUN_IN_CHILD(tables_are_small_at_first);
	return 0;
}
