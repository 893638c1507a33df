/* SPDX-License-Identifier: MIT
 * test_sampling.c -- the countdowns against hooks that write down what they drew: samples come at
 * exactly the objects the draws named, whatever is freed in between, and each record is given back
 * once. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/core/resize.h"
#include "heap/layout/harden_block.h"
#include "heap/sample/sampling.h"
#include "heap/thread/thread.h"
#include "quiet_hooks.h"
#include "test.h"

#define RECORDS 400000

static uint64_t random_state = 99, fixed_gap, last_draw;
static long draws, samples, freed;
static uint32_t next_record = 1;
static uint8_t record_live[RECORDS];
static mw_sample_request_t last_request;
static bool sampled_now;

/* Each sample changes the thread's rate. */
static bool changes_rate;
static uint32_t drawn_by; /* the rate of the last draw */

static void thread_start(mw_hook_thread_t *thread) {
	thread->words[0] = 1;
}

static uint64_t draw_objects(mw_hook_thread_t *thread, size_t size_bytes) {
	CHECK_EQ(thread->words[0], 1);
	CHECK(size_bytes >= 16);
	draws++;
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	last_draw = fixed_gap ? fixed_gap : (random_state >> 40) % 700 + 1;
	drawn_by = thread->rate;
	return last_draw;
}

static uint64_t draw_bytes(mw_hook_thread_t *thread) {
	CHECK_EQ(thread->words[0], 1);
	return fixed_gap == UINT64_MAX ? UINT64_MAX : 100000;
}

static mw_record_id_t sampled(mw_hook_thread_t *thread, const mw_sample_request_t *request) {
	CHECK_EQ(thread->words[0], 1);
	samples++;
	sampled_now = true;
	last_request = *request;
	CHECK(next_record < RECORDS);
	if (changes_rate) {
		thread->rate = (thread->rate + 1) % 16;
		thread->rate_changed = true;
	}
	record_live[next_record] = 1;
	return next_record++;
}

static void sample_freed(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary) {
	(void)temporary;
	(void)thread;
	CHECK(record > 0 && record < next_record);
	CHECK_EQ(record_live[record], 1);
	record_live[record] = 0;
	freed++;
}

static void poll(mw_hook_thread_t *thread) {
	thread->words[1]++;
}

static void grew(mw_hook_thread_t *thread, size_t in_use_bytes) {
	(void)thread;
	CHECK(in_use_bytes > 0);
}

static const mw_heap_hooks_t hooks = {.thread_start = thread_start,
				      .draw_objects = draw_objects,
				      .draw_bytes = draw_bytes,
				      .sampled = sampled,
				      .sample_freed = sample_freed,
				      .poll = poll,
				      .grew = grew,
				      .background = quiet_background};

/* Allocates `count` objects of `bytes`, some freed again at once or later, and checks that a sample
 * comes at exactly the object the last draw named. */
static void check_positions(size_t bytes, long count, unsigned keep) {
	void **held = mw_heap_alloc(3000000);
	long held_count = 0;
	uint64_t since = 0, gap = 0;
	for (long i = 0; i < count; i++) {
		long draws_before = draws;
		sampled_now = false;
		void *block = mw_heap_alloc(bytes);
		if (draws != draws_before && gap == 0)
			gap = last_draw;
		since++;
		CHECK_EQ(sampled_now, since == gap);
		if (sampled_now) {
			CHECK_EQ(last_request.requested_bytes, mw_harden_requested(bytes));
			CHECK(last_request.block == block);
			CHECK_EQ(last_request.trial_bytes, last_request.usable_bytes);
			since = 0;
			gap = 0;
		}
		if ((unsigned)i % keep == 0)
			held[held_count++] = block;
		else
			mw_fast_free(block);
		if (held_count == 3000) {
			while (held_count > 500)
				mw_fast_free(held[--held_count]);
		}
	}
	while (held_count > 0)
		mw_fast_free(held[--held_count]);
	mw_fast_free(held);
}

static void test_samples_come_where_drawn(void) {
	mw_heap_set_hooks(&hooks);
	check_positions(64, 100000, 1000000);
	check_positions(48, 100000, 1);
	check_positions(1000, 50000, 3);
	check_positions(8192, 20000, 2);
	CHECK(samples > 500);
	/* The arrays that held the blocks were sampled too, and freed. */
	CHECK_EQ(samples, freed);
}

/* All countdowns are drawn anew by the new rate: another class's, too.  A sample names the rate
 * that it was drawn by. */
static void check_rates(size_t bytes, size_t other_bytes, long count) {
	changes_rate = true;
	long named = 0;
	for (long i = 0; i < count; i++) {
		sampled_now = false;
		mw_fast_free(mw_heap_alloc(bytes));
		if (!sampled_now)
			continue;
		named++;
		long draws_before = draws;
		uint32_t rate = mw_heap_self()->hook_thread.rate;
		CHECK(!mw_heap_self()->hook_thread.rate_changed);
		if (named > 1)
			CHECK_EQ(last_request.draw_generation,
				 mw_draw_generation(mw_heap_rate_generation, (rate + 15) % 16));
		/* Lists that were cut before the change are used up first. */
		changes_rate = false;
		for (int k = 0; k < 5000 && draws == draws_before; k++)
			mw_fast_free(mw_heap_alloc(other_bytes));
		CHECK(draws > draws_before && drawn_by == rate);
		changes_rate = true;
	}
	CHECK(named > count / 2000);
	changes_rate = false;
}

static void test_rates_of_a_thread(void) {
	check_rates(64, 1000, 50000);
	check_rates(1000, 8192, 50000);
	check_rates(8192, 64, 50000);
	CHECK_EQ(samples, freed);
}

static void test_every_object_when_each_draw_is_one(void) {
	fixed_gap = 1;
	atomic_fetch_add(&mw_heap_rate_generation, 1);
	long before = samples;
	void *old_list[200];
	for (int i = 0; i < 200; i++) /* use up what was handed out under the old rate */
		old_list[i] = mw_heap_alloc(320);
	before = samples;
	void *blocks[5000];
	for (int i = 0; i < 5000; i++)
		blocks[i] = mw_heap_alloc(320);
	CHECK_EQ(samples - before, 5000);
	for (int i = 0; i < 5000; i++)
		mw_fast_free(blocks[i]);
	for (int i = 0; i < 200; i++)
		mw_fast_free(old_list[i]);
	CHECK_EQ(samples, freed);
}

static void test_none_when_off(void) {
	fixed_gap = UINT64_MAX;
	atomic_fetch_add(&mw_heap_rate_generation, 1);
	for (int i = 0; i < 2000; i++) /* lists cut before end in one more sample each */
		mw_fast_free(mw_heap_alloc(320));
	long before = samples;
	for (int i = 0; i < 100000; i++)
		mw_fast_free(mw_heap_alloc(320));
	for (int i = 0; i < 100; i++)
		mw_fast_free(mw_heap_alloc(100000));
	CHECK_EQ(samples, before);
	CHECK_EQ(samples, freed);
}

/* The loop takes the block it freed last from a list head that is never empty. */
static void test_loops_without_refills_notice(size_t bytes) {
	fixed_gap = UINT64_MAX;
	atomic_fetch_add(&mw_heap_rate_generation, 1);
	void *kept[16];
	for (int i = 0; i < 16; i++)
		kept[i] = mw_heap_alloc(bytes);
	for (int i = 0; i < 20000; i++)
		mw_fast_free(mw_heap_alloc(bytes));
	long before = samples;
	fixed_gap = 100;
	atomic_fetch_add(&mw_heap_rate_generation, 1);
	for (int i = 0; i < 20000; i++)
		mw_fast_free(mw_heap_alloc(bytes));
	CHECK(samples - before > 20);
	for (int i = 0; i < 16; i++)
		mw_fast_free(kept[i]);
}

static void test_sampling_begins_in_loops(void) {
	static const size_t sizes[] = {16, 64, 320, 1100, 2000, 5000, 30000, 60000, 100000};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
		test_loops_without_refills_notice(sizes[i]);
}

/* A long countdown is counted down in steps, and ends where it was drawn nevertheless. */
static void test_long_countdowns(void) {
	for (fixed_gap = 1023; fixed_gap < 10000; fixed_gap = fixed_gap * 5 / 2 + 1) {
		atomic_fetch_add(&mw_heap_rate_generation, 1);
		do { /* what the countdown under the old rate led to */
			sampled_now = false;
			mw_fast_free(mw_heap_alloc(5000));
		} while (!sampled_now);
		check_positions(5000, (long)fixed_gap * 4, 3);
		check_positions(100, (long)fixed_gap * 4, 3);
	}
	CHECK_EQ(samples, freed);
}

static _Atomic uint32_t order_word;

static void test_poll_is_noticed_at_a_refill(void) {
	atomic_store(&mw_heap_poll_word, &order_word);
	for (int i = 0; i < 5000; i++)
		mw_fast_free(mw_heap_alloc(64));
	uint64_t before = mw_heap_self()->hook_thread.words[1];
	atomic_fetch_add(&order_word, 1);
	for (int i = 0; i < 5000; i++)
		mw_fast_free(mw_heap_alloc(64));
	CHECK_EQ(mw_heap_self()->hook_thread.words[1], before + 1);
}

static void *free_all(void *array) {
	void **blocks = array;
	for (int i = 0; i < 2000; i++)
		mw_fast_free(blocks[i]);
	mw_heap_thread_end();
	return NULL;
}

static void test_sampled_blocks_freed_by_another_thread(void) {
	fixed_gap = 7;
	atomic_fetch_add(&mw_heap_rate_generation, 1);
	static void *blocks[2000];
	for (int i = 0; i < 2000; i++)
		blocks[i] = mw_heap_alloc(i % 3 == 0 ? 40000 : 96);
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, free_all, blocks), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(samples, freed);
}

static void test_resize_of_sampled_blocks(void) {
	fixed_gap = 1;
	atomic_fetch_add(&mw_heap_rate_generation, 1);
	for (size_t bytes = 10; bytes < 6000000; bytes = bytes * 3 / 2) {
		char *block = mw_heap_alloc(bytes);
		block[bytes - 1] = 'x';
		block = mw_heap_resize(block, bytes * 2);
		CHECK_EQ(block[bytes - 1], 'x');
		block = mw_heap_resize(block, bytes / 2 + 1);
		block = mw_heap_resize(block, bytes + bytes / 3);
		mw_fast_free(block);
	}
	CHECK_EQ(samples, freed);
}

static size_t slice_of(const void *block) {
	return (uintptr_t)block >> MW_SLICE_SHIFT;
}

/* Blocks of few samples share slabs of few sizes, and yet have the size and alignment of their
 * class, are checked as of it, and give their own record back. */
static void test_few_samples_share_slabs(void) {
	fixed_gap = 1;
	atomic_fetch_add(&mw_heap_rate_generation, 1);
	void *blocks[MW_CLASS_COUNT];
	size_t slices[MW_CLASS_COUNT];
	unsigned count = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		do { /* what was handed out under the old rate first; it is freed with the heap */
			sampled_now = false;
			blocks[c] = mw_heap_alloc(mw_class_bytes[c]);
		} while (!sampled_now);
		size_t bytes = mw_class_bytes[c], align = bytes & -bytes;
		CHECK_EQ(last_request.usable_bytes, bytes);
		CHECK_EQ(mw_heap_usable_bytes(blocks[c]), bytes);
		CHECK_EQ((uintptr_t)blocks[c] % (align < 4096 ? align : 4096), 0);
		memset(blocks[c], 'a' + (int)(c % 26), bytes);
		unsigned k = 0;
		while (k < count && slices[k] != slice_of(blocks[c]))
			k++;
		if (k == count)
			slices[count++] = slice_of(blocks[c]);
	}
	/* Three for tiny ones, then one a power of two, and more where a slab does not hold four:
	 * slots of 32 and 64 KiB, which are larger than their blocks, but for the largest class. */
	CHECK(count <= 3 + 4 + 3 + 5);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		const char *block = blocks[c];
		CHECK(block[0] == 'a' + (int)(c % 26) && block[mw_class_bytes[c] - 1] == block[0]);
		/* A size of the next class moves the block: it is a trial of its own. */
		if (c + 1 < MW_TINY_CLASSES) {
			void *moved = mw_heap_resize(blocks[c], mw_class_bytes[c] + 1);
			CHECK(moved != blocks[c]);
			blocks[c] = moved;
		}
		mw_fast_free(blocks[c]);
	}
	CHECK_EQ(samples, freed);
}

/* Many of a size have slabs of the next power of two, which are full: exact profiles of large heaps
 * stay small. */
static void test_many_samples_fit_closely(void) {
	enum { BLOCKS = 20000, BYTES = 96, SLOT_BYTES = 128 };
	static void *blocks[BLOCKS];
	size_t changes = 0;
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = mw_heap_alloc(BYTES);
		changes += i > 0 && slice_of(blocks[i]) != slice_of(blocks[i - 1]);
		CHECK_EQ(mw_heap_usable_bytes(blocks[i]), BYTES);
	}
	CHECK(changes <= BLOCKS * (SLOT_BYTES + 4) / MW_SLICE_BYTES + 3);
	for (int i = 0; i < BLOCKS; i++)
		mw_fast_free(blocks[i]);
	CHECK_EQ(samples, freed);
}

int main(void) {
	RUN(test_samples_come_where_drawn);
	RUN(test_rates_of_a_thread);
	RUN(test_every_object_when_each_draw_is_one);
	RUN(test_none_when_off);
	RUN(test_sampling_begins_in_loops);
	RUN(test_long_countdowns);
	RUN(test_poll_is_noticed_at_a_refill);
	RUN(test_sampled_blocks_freed_by_another_thread);
	RUN(test_resize_of_sampled_blocks);
	if (!MW_HARDEN_ON) /* there each class has slabs of its own */
		RUN(test_few_samples_share_slabs);
	RUN(test_many_samples_fit_closely);
	return 0;
}
