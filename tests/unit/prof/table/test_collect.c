/* SPDX-License-Identifier: MIT
 * test_collect.c -- stacks to which nothing refers are taken out, and their entries used again:
 * stacks in use keep numbers and frames, sums stay, and the tables of a program that has ever new
 * stacks do not grow. */
#include "prof/table/collect.h"

#include <sys/resource.h>

#include "prof/table/depot.h"
#include "prof/table/records.h"
#include "prof_fixture.h"

enum { DEPTH = 24, BYTES = 48, LIVE = 300 };

static const mw_state_stack_t *stack_at(uint32_t number) {
	return mw_store_private(MW_SECTION_STACKS, number);
}

/* The frames of stack `seed`: the bits of the seed choose among a few functions. */
static void fill(uint64_t *frames, uint64_t seed) {
	for (unsigned i = 0; i < DEPTH; i++)
		frames[i] = (uint64_t)1 << 48 | (2 * i + (seed >> i & 1)) | (i == 0) * seed << 12;
}

static uint32_t find(uint64_t seed) {
	uint64_t frames[DEPTH];
	fill(frames, seed);
	return mw_depot_find(frames, DEPTH, false);
}

static bool has_frames(uint32_t number, uint64_t seed) {
	uint64_t frames[DEPTH];
	fill(frames, seed);
	uint32_t node = stack_at(number)->node;
	unsigned i = 0;
	for (; i < DEPTH && node != 0; i++)
		if (mw_depot_frame(mw_depot_next_frame(&node)) != frames[i])
			return false;
	return i == DEPTH && node == 0 && stack_at(number)->depth == DEPTH;
}

static mw_record_id_t add(uint32_t stack, uint64_t bytes) {
	return mw_records_add(&(mw_sample_t){.stack = stack,
					     .thread_id = 1,
					     .address = 4096,
					     .requested_bytes = bytes,
					     .usable_bytes = bytes,
					     .weight_q16 = 65536,
					     .time_ns = 1});
}

static void remove_sample(mw_record_id_t record) {
	mw_records_remove(record, &(mw_release_t){.time_ns = 5000, .thread_id = 1});
}

static void collect(void) {
	CHECK(mw_collect_start(0));
	mw_collect_finish();
}

/* Both copies of all that a collection changes are equal, and the stacks add up to the totals. */
static void check_tables(char *file) {
	const mw_state_live_t *live = mw_store_live();
	int64_t live_bytes = 0, alloc_bytes = 0, objects = 0;
	for (uint32_t i = 0; i < live->stacks_used; i++) {
		live_bytes += stack_at(i)->live_bytes;
		alloc_bytes += stack_at(i)->alloc_bytes;
		objects += stack_at(i)->alloc_objects_q16;
		CHECK(memcmp(stack_at(i), stack_entry(file, i), sizeof(mw_state_stack_t)) == 0);
	}
	CHECK_EQ(live_bytes, live->live_bytes);
	CHECK_EQ(alloc_bytes, live->alloc_bytes);
	CHECK_EQ(objects, live->alloc_objects_q16);
	CHECK_EQ(live->collections % 2, 0);
	CHECK_EQ(live->flags, live->stacks_forgotten ? MW_STATE_FORGOT : 0);
}

static char *start_with_file(void) {
	start(1, 0, false);
	bool sampled;
	CHECK(fake_small(&thread, 1, (void *)1, 16, 16, &sampled) && sampled);
	char *file = map_state_of(getpid());
	CHECK(file);
	return file;
}

static void only_what_nothing_refers_to_is_forgotten(void) {
	char *file = start_with_file();
	/* So much that no other stack has a thousandth of all bytes. */
	uint32_t large = find(1);
	remove_sample(add(large, 100 << 20));
	uint32_t live = find(2), freed = find(3), named = find(4);
	mw_record_id_t kept = add(live, BYTES);
	remove_sample(add(freed, BYTES));
	remove_sample(add(named, BYTES));
	/* All of them were sampled since the collection before. */
	collect();
	CHECK_EQ(mw_store_live()->stacks_forgotten, 0);
	CHECK(mw_collect_start(0));
	mw_collect_keep(named);
	mw_collect_finish();
	CHECK_EQ(mw_store_live()->stacks_forgotten, 1);
	CHECK_EQ(mw_store_live()->collections, 4);
	CHECK(has_frames(large, 1) && has_frames(live, 2) && has_frames(named, 4));
	CHECK(find(1) == large && find(2) == live && find(4) == named);
	CHECK_EQ(stack_at(freed)->hash, 0);
	/* What it allocated counts as unknown, lifetimes too. */
	CHECK_EQ(stack_at(0)->alloc_bytes, BYTES);
	CHECK_EQ(stack_at(0)->alloc_samples, 1);
	const mw_state_lifetimes_t *lifetimes =
		mw_store_private(MW_SECTION_LIFETIMES, stack_at(0)->lifetimes);
	CHECK(stack_at(0)->lifetimes != 0 && lifetimes->samples == 1);
	/* A new stack gets the entry, with counters of 0. */
	CHECK_EQ(find(5), freed);
	CHECK(has_frames(freed, 5));
	CHECK_EQ(stack_at(freed)->alloc_bytes, 0);
	remove_sample(kept);
	check_tables(file);
}

/* The stacks that were in use at the highest number of bytes stay: the peak is a view. */
static void the_peak_stays(void) {
	start_with_file();
	uint32_t peak = find(1);
	mw_record_id_t record = add(peak, 1 << 20);
	remove_sample(record);
	remove_sample(add(find(2), 10 << 20));
	/* Now the peak is of stack 2 alone, and the share of both is below the limit. */
	uint32_t other = find(3);
	for (int i = 0; i < 20000; i++)
		remove_sample(add(other, 1 << 20));
	collect();
	collect();
	CHECK_EQ(mw_store_live()->stacks_forgotten, 1);
	CHECK_EQ(stack_at(peak)->hash, 0);
	CHECK(has_frames(find(2), 2) && stack_at(find(2))->alloc_samples == 1);
}

static uint64_t next_random(uint64_t *state) {
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

/* A million stacks, of which 300 have a block in use at a time. */
static void ever_new_stacks_do_not_fill_the_tables(void) {
	char *file = start_with_file();
	static struct {
		mw_record_id_t record;
		uint32_t stack;
		uint64_t seed;
	} blocks[LIVE];
	uint64_t random = 42, now_ns = 0, collections = 0;
	for (uint64_t seed = 1; seed < 1000000; seed++) {
		unsigned i = (unsigned)(next_random(&random) % LIVE);
		if (blocks[i].record) {
			CHECK(has_frames(blocks[i].stack, blocks[i].seed));
			remove_sample(blocks[i].record);
		}
		blocks[i].seed = seed;
		blocks[i].stack = find(seed);
		CHECK(blocks[i].stack != 0);
		blocks[i].record = add(blocks[i].stack, BYTES * (1 + seed % 5));
		if (seed % 3 == 0) /* a second size */
			remove_sample(add(blocks[i].stack, 4096));
		now_ns += 100000;
		if (mw_collect_is_due(now_ns)) {
			CHECK(mw_collect_start(now_ns));
			mw_collect_finish();
			collections++;
			if (collections % 8 == 0)
				check_tables(file);
		}
	}
	const mw_state_live_t *live = mw_store_live();
	for (unsigned i = 0; i < LIVE; i++)
		CHECK(has_frames(blocks[i].stack, blocks[i].seed) &&
		      find(blocks[i].seed) == blocks[i].stack);
	check_tables(file);
	/* Each second brings 10,000 stacks: those of the last two and the ones in use stay. */
	CHECK(collections > 90);
	CHECK(live->stacks_used < 21000 && live->sizes_used < 21000 &&
	      live->lifetimes_used < 21000 && live->nodes_used < 21000 * DEPTH);
	CHECK(live->stacks_forgotten > 900000);
}

/* A full table gets room again. */
static void a_full_table_gets_room(void) {
	struct rlimit limit = {700 << 10, RLIM_INFINITY};
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK(mw_store_start());
	mw_depot_start();
	mw_record_id_t record = add(find(1), 1000000);
	for (uint64_t seed = 2; seed < 300; seed++)
		remove_sample(add(find(seed), 16));
	CHECK_EQ(mw_store_live()->flags & MW_STATE_STACKS_FULL, MW_STATE_STACKS_FULL);
	CHECK(mw_collect_is_due(1));
	collect();
	collect();
	CHECK_EQ(mw_store_live()->flags, MW_STATE_FORGOT);
	uint32_t number = find(1000);
	CHECK(number != 0 && has_frames(number, 1000));
	remove_sample(record);
}

enum { WALKS = 200 };

/* A thread whose walk is cached takes its stack's number for the samples after the collection. All
 * samples have one stack, as the loop is their only caller. */
static void cached_walks_notice_a_collection(void) {
	start_with_file();
	mw_sample_t sample = {0}, after;
	bool sampled;
	for (uintptr_t i = 0; i < 2 * WALKS; i++) {
		if (i == WALKS) {
			remove_sample(add(find(1), 1 << 30));
			collect();
			collect();
			CHECK_EQ(stack_at(sample.stack)->hash, 0);
			/* Other stacks get the entries that are free now. */
			for (uint64_t seed = 100; seed < 110; seed++)
				CHECK(find(seed) != 0);
			CHECK(stack_at(sample.stack)->hash != 0);
		}
		mw_record_id_t record =
			fake_small(&thread, 2, (void *)(4096 + 16 * i), 16, 16, &sampled);
		CHECK(sampled && mw_records_read(record, &after));
		if (i < WALKS)
			sample = after;
		else
			CHECK(after.stack != sample.stack && stack_at(after.stack)->depth > 2);
		fake_hooks->sample_freed(&thread.hook, record, false);
	}
}

int main(void) {
	RUN_IN_CHILD(only_what_nothing_refers_to_is_forgotten);
	RUN_IN_CHILD(the_peak_stays);
	RUN_IN_CHILD(ever_new_stacks_do_not_fill_the_tables);
	RUN_IN_CHILD(a_full_table_gets_room);
	RUN_IN_CHILD(cached_walks_notice_a_collection);
	return 0;
}
