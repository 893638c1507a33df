/* SPDX-License-Identifier: MIT
 * test_cached_heap.c -- heaps of ended threads: the next thread goes on with the lists as they are,
 * uncounted; nobody else takes their pages for its own; cached memory is bounded and can be had
 * back. */
#include "heap/thread/cached_heap.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/rng.h"
#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/layout/harden_block.h"
#include "heap/local/counts.h"
#include "heap/local/inherited.h"
#include "heap/memory/chunk.h"
#include "heap/memory/decay.h"
#include "heap/memory/limit.h"
#include "heap/remote/remote.h"
#include "heap/sample/hooks.h"
#include "heap/stats/heap_walk.h"
#include "heap/stats/stats.h"
#include "heap/thread/flush.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "heap/thread/verify.h"
#include "os/time/clock.h"
#include "quiet_hooks.h"
#include "test.h"

enum { BLOCKS = 64, MANY = 60, BYTES = 64 };

static void end_thread(void) {
	mw_heap_thread_end();
	mw_thread = (mw_thread_t)MW_THREAD_INITIAL;
}

static size_t page_takes(void) {
	mw_chunk_stats_t stats;
	mw_chunk_stats(&stats);
	return stats.page_takes;
}

static size_t abandoned_pages(void) {
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_stats(stats);
	return stats[MW_STAT_abandoned_pages];
}

static size_t cached_bytes(void) {
	size_t bytes = 0;
	for (const mw_heap_t *heap = mw_cached_heaps; heap; heap = heap->next_free)
		bytes += heap->cached.bytes;
	return bytes;
}

static void use_some(void **blocks) {
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = mw_heap_alloc(16 + i * 40);
	for (unsigned i = 0; i < BLOCKS; i++)
		mw_fast_free(blocks[i]);
}

static void all_blocks_are_back(void) {
	end_thread();
	mw_heap_trim();
	CHECK(!mw_cached_heaps);
	CHECK_EQ(mw_heap_live_bytes(), 0);
	CHECK_EQ(abandoned_pages(), 0);
	uint32_t threads, behind;
	mw_heap_count_threads(&threads, &behind);
	CHECK_EQ(threads, 0);
}

static void everything_is_back(void) {
	all_blocks_are_back();
	CHECK_EQ(mw_heap_in_use_bytes(), 0);
}

static void test_the_next_thread_goes_on(void) {
	void *first[BLOCKS], *second[BLOCKS];
	use_some(first);
	mw_heap_t *heap = mw_thread.heap;
	end_thread();
	CHECK(mw_cached_heaps == heap);
	CHECK_EQ(abandoned_pages(), 0);
	uint32_t threads, behind;
	mw_heap_count_threads(&threads, &behind);
	CHECK_EQ(threads, 0);
	size_t takes = page_takes();
	for (unsigned thread = 0; thread < MANY; thread++) {
		use_some(second);
		end_thread();
	}
	use_some(second);
	CHECK(mw_thread.heap == heap);
	CHECK(!mw_cached_heaps);
	CHECK_EQ(page_takes(), takes);
	/* Of itself it has no past. */
	uint64_t allocated_bytes, freed_bytes, sum_bytes = 0;
	mw_heap_thread_bytes(&allocated_bytes, &freed_bytes);
	for (unsigned i = 0; i < BLOCKS; i++)
		sum_bytes += mw_heap_bytes_for(16, 16 + i * 40);
	CHECK_EQ(allocated_bytes, sum_bytes);
	CHECK_EQ(freed_bytes, sum_bytes);
	everything_is_back();
}

static pthread_barrier_t barrier;

static void *end_when_told(void *unused) {
	(void)unused;
	void *block = mw_heap_alloc(BYTES);
	mw_fast_free(block);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	mw_heap_thread_end();
	return NULL;
}

static void test_a_thread_pointer_is_not_enough(void) {
	/* A thread with this one's pointer gets the heap of another one. */
	pthread_t other;
	pthread_barrier_init(&barrier, NULL, 2);
	CHECK_EQ(pthread_create(&other, NULL, end_when_told, NULL), 0);
	pthread_barrier_wait(&barrier);
	void *block = mw_heap_alloc(BYTES);
	mw_heap_t *heap = mw_thread.heap;
	CHECK(mw_fast_is_own(mw_page_entry(mw_page_of_slice((uintptr_t)block))) ||
	      !mw_harden_has_fast_paths());
	end_thread();
	pthread_barrier_wait(&barrier);
	pthread_join(other, NULL);
	mw_fast_free(mw_heap_alloc(BYTES));
	CHECK(mw_thread.heap != heap);
	CHECK(mw_cached_heaps == heap);
	CHECK(!mw_fast_is_own(mw_page_entry(mw_page_of_slice((uintptr_t)block))));
	mw_fast_free(block);
	everything_is_back();
}

static bool many_sizes; /* threads of run_many() use blocks of up to 20 KiB */

static void *hold_until_all_do(void *unused) {
	(void)unused;
	void *blocks[BLOCKS];
	use_some(blocks);
	for (unsigned i = 0; many_sizes && i < BLOCKS; i++)
		blocks[i] = mw_heap_alloc(8 * (16 + i * 40));
	for (unsigned i = 0; many_sizes && i < BLOCKS; i++)
		mw_fast_free(blocks[i]);
	pthread_barrier_wait(&barrier);
	mw_heap_thread_end();
	return NULL;
}

static void run_many(void) {
	pthread_t threads[MANY];
	pthread_barrier_init(&barrier, NULL, MANY);
	for (unsigned i = 0; i < MANY; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, hold_until_all_do, NULL), 0);
	for (unsigned i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
}

static void test_cached_memory_is_bounded(void) {
	many_sizes = true;
	run_many();
	CHECK(cached_bytes() <= MW_CACHED_HEAPS_BYTES);
	CHECK(cached_bytes() > MW_CACHED_HEAPS_BYTES - 2 * MW_CACHED_HEAP_BYTES);
	everything_is_back();
	/* The room that they had is there again. */
	run_many();
	CHECK(cached_bytes() > MW_CACHED_HEAPS_BYTES - 2 * MW_CACHED_HEAP_BYTES);
	everything_is_back();
	many_sizes = false;
}

static void test_a_large_heap_keeps_some_of_its_pages(void) {
	static void *blocks[2 * MW_CACHED_HEAP_BYTES / BYTES];
	size_t count = sizeof blocks / sizeof *blocks;
	for (size_t i = 0; i < count; i++)
		blocks[i] = mw_heap_alloc(BYTES);
	/* Full pages are not the heap's: each page has a free block. */
	for (size_t i = 0; i < count; i += 2)
		mw_fast_free(blocks[i]);
	end_thread();
	CHECK(mw_cached_heaps != NULL);
	CHECK(cached_bytes() <= MW_CACHED_HEAP_BYTES);
	CHECK(cached_bytes() > MW_CACHED_HEAP_BYTES / 2);
	CHECK(abandoned_pages() >= MW_CACHED_HEAP_BYTES / MW_SLICE_BYTES / 2);
	for (size_t i = 1; i < count; i += 2)
		mw_fast_free(blocks[i]);
	everything_is_back();
}

/* ---- lists that are handed on uncounted ---- */

enum { TAKEN = 3 * MW_INHERITED_BLOCKS / 2 };

static void check_own_bytes(uint64_t bytes) {
	uint64_t allocated_bytes, freed_bytes;
	mw_heap_thread_bytes(&allocated_bytes, &freed_bytes);
	CHECK_EQ(allocated_bytes, bytes);
	CHECK_EQ(freed_bytes, bytes);
}

static void check_own_counts(uint64_t blocks) {
	check_own_bytes(blocks * BYTES);
}

/* Each thread takes some blocks of what the threads before it left, and no block twice. */
static void test_a_list_is_handed_on_uncounted(void) {
	void *blocks[MANY * TAKEN];
	unsigned size_class = mw_class_of(BYTES);
	void *first = mw_heap_alloc(BYTES);
	mw_heap_t *heap = mw_thread.heap;
	for (unsigned thread = 0; thread < MANY; thread++) {
		for (unsigned i = 0; i < TAKEN; i++)
			blocks[thread * TAKEN + i] = mw_heap_alloc(BYTES);
		void *left = mw_thread.tcache_tiny[size_class];
		end_thread();
		if (left && !MW_HARDEN_ON)
			CHECK(heap->inherited[size_class].first == left);
		CHECK(mw_heap_self() == heap);
		check_own_counts(0);
		mw_heap_check(heap);
	}
	for (unsigned i = 0; i < MANY * TAKEN; i++)
		memset(blocks[i], (int)i, BYTES);
	for (unsigned i = 0; i < MANY * TAKEN; i++) {
		CHECK(((unsigned char *)blocks[i])[BYTES - 1] == (unsigned char)i);
		mw_fast_free(blocks[i]);
	}
	mw_fast_free(first);
	everything_is_back();
}

/* What the thread took of others' lists counts as its own; what it left does not. */
static void test_taken_blocks_count_for_the_taker(void) {
	mw_fast_free(mw_heap_alloc(BYTES));
	for (unsigned taken = 1; taken < 2 * TAKEN; taken++) {
		void *blocks[2 * TAKEN];
		end_thread();
		for (unsigned i = 0; i < taken; i++)
			blocks[i] = mw_heap_alloc(BYTES);
		for (unsigned i = 0; i < taken; i++)
			mw_fast_free(blocks[i]);
		check_own_counts(taken);
		mw_heap_flush_thread();
		check_own_counts(taken);
	}
	everything_is_back();
}

/* A list above tiny holds blocks of any of the heap's pages.  The next thread gets none of a page
 * that was given up: what it frees would not be its own, and would count for nobody as yet. */
static void test_lists_hold_no_block_of_a_page_given_up(void) {
	enum { LARGER_BYTES = 2048, COUNT = 4 * MW_CACHED_HEAP_BYTES / LARGER_BYTES };
	enum { IN_PAGE = MW_SLICE_BYTES / LARGER_BYTES };
	static void *blocks[COUNT];
	for (unsigned i = 0; i < COUNT; i++)
		blocks[i] = mw_heap_alloc(LARGER_BYTES);
	/* From each page in turn, so that the list has blocks of many pages. */
	for (unsigned first = 0; first < IN_PAGE / 2; first++)
		for (unsigned i = first; i < COUNT; i += IN_PAGE)
			mw_fast_free(blocks[i]);
	mw_heap_t *heap = mw_heap_self();
	end_thread();
	CHECK(abandoned_pages() > 0);
	CHECK(mw_heap_self() == heap);
	check_own_bytes(0);
	void *own[IN_PAGE];
	for (unsigned i = 0; i < IN_PAGE; i++)
		own[i] = mw_heap_alloc(LARGER_BYTES);
	/* The list takes those that came last. */
	for (unsigned i = IN_PAGE; i-- > 0;)
		mw_fast_free(own[i]);
	check_own_bytes(IN_PAGE * mw_heap_bytes_for(16, LARGER_BYTES));
	for (unsigned i = 0; i < COUNT; i++)
		if (i % IN_PAGE >= IN_PAGE / 2)
			mw_fast_free(blocks[i]);
	everything_is_back();
}

static void test_a_heap_with_a_rate_of_its_own_is_not_cached(void) {
	mw_fast_free(mw_heap_alloc(BYTES));
	mw_heap_take_rate();
	mw_fast_free(mw_heap_alloc(BYTES));
	end_thread();
	CHECK(!mw_cached_heaps);
	everything_is_back();
}

static void test_room_is_not_lost_by_a_fork(void) {
	/* A thread that the child does not have had set room aside. */
	mw_fast_free(mw_heap_alloc(BYTES));
	for (unsigned i = 0; i < 2 * MW_CACHED_HEAPS_BYTES / 4096; i++)
		if (!mw_cached_heap_begin(mw_thread.heap))
			break;
	CHECK(!mw_cached_heap_begin(mw_thread.heap));
	mw_cached_heap_fork_child();
	CHECK(mw_cached_heap_begin(mw_thread.heap));
	mw_cached_heap_fork_child();
	everything_is_back();
}

static uint64_t now_ns;

static uint64_t test_clock(void) {
	return now_ns;
}

/* Fewer pages than the heap has had: a class that is new to it asks for one. */
static void ask_for_a_page(unsigned n) {
	mw_fast_free(mw_heap_alloc(5000 + 1000 * n));
}

static void test_none_is_cached_for_long(void) {
	now_ns = (uint64_t)100 * 1000 * 1000 * 1000;
	mw_os_clock_set_source(test_clock);
	run_many();
	size_t waiting_bytes = cached_bytes();
	CHECK(waiting_bytes > 0);
	now_ns += MW_DECAY_DEFAULT_NS / 2 - 1;
	ask_for_a_page(0); /* this thread goes on with one of them */
	size_t own_bytes = mw_thread.heap->cached.bytes;
	CHECK_EQ(cached_bytes(), waiting_bytes - own_bytes);
	/* One that came later waits longer. */
	pthread_t late;
	pthread_barrier_init(&barrier, NULL, 1);
	CHECK_EQ(pthread_create(&late, NULL, hold_until_all_do, NULL), 0);
	pthread_join(late, NULL);
	mw_heap_t *heap = mw_cached_heaps;
	now_ns += 1;
	ask_for_a_page(10);
	CHECK(mw_cached_heaps == heap && !heap->next_free);
	now_ns += MW_DECAY_DEFAULT_NS / 2;
	ask_for_a_page(20);
	CHECK(!mw_cached_heaps);
	CHECK_EQ(atomic_load(&mw_cached_heap_due_ns), UINT64_MAX);
	mw_os_clock_set_source(NULL);
	everything_is_back();
}

/* ---- samples ---- */

enum { MEAN_OBJECTS = 200, THREADS = 20000, OBJECTS = 37 };
static mw_rng_t rng;
static unsigned samples;

static uint64_t draw_objects(mw_hook_thread_t *thread, size_t size_bytes) {
	(void)thread;
	(void)size_bytes;
	/* Geometric, as the profiler's. */
	return (uint64_t)(mw_rng_exp(&rng) / -log1p(-1.0 / MEAN_OBJECTS)) + 1;
}
static mw_record_id_t sampled(mw_hook_thread_t *thread, const mw_sample_request_t *request) {
	(void)thread;
	(void)request;
	samples++;
	return 0;
}
static const mw_heap_hooks_t hooks = {.thread_start = quiet_thread,
				      .draw_objects = draw_objects,
				      .draw_bytes = quiet_draw_bytes,
				      .sampled = sampled,
				      .sample_freed = quiet_sample_freed,
				      .poll = quiet_thread,
				      .grew = quiet_grew,
				      .background = quiet_background};

/* Threads that live for fewer objects than a list has: their samples are as many as they should be
 * within five standard deviations. */
static void test_samples_are_not_lost_between_threads(void) {
	mw_rng_init(&rng, 7);
	mw_heap_set_hooks(&hooks);
	for (unsigned size = BYTES; size <= 2000; size *= 30) {
		samples = 0;
		for (unsigned i = 0; i < THREADS; i++) {
			void *blocks[OBJECTS];
			for (unsigned k = 0; k < OBJECTS; k++)
				blocks[k] = mw_heap_alloc(size);
			for (unsigned k = 0; k < OBJECTS; k++)
				mw_fast_free(blocks[k]);
			end_thread();
			CHECK(mw_cached_heaps != NULL);
		}
		double expected = (double)THREADS * OBJECTS / MEAN_OBJECTS;
		CHECK(fabs(samples - expected) < 5 * sqrt(expected));
	}
	mw_heap_set_hooks(NULL);
	all_blocks_are_back(); /* slabs of samples stay */
}

/* A countdown that was drawn at a thread's own rate is not gone on with at another one: its sample
 * would have the wrong weight. */
static void test_countdowns_of_a_rate_end_with_the_thread(void) {
	mw_fast_free(mw_heap_alloc(BYTES));
	mw_heap_t *heap = mw_heap_self();
	unsigned size_class = mw_class_of(BYTES);
	heap->until_sample_tiny[size_class] = 1000;
	end_thread();
	CHECK(mw_heap_self() == heap);
	/* It waits with what is left of the list. */
	CHECK_EQ(heap->until_sample_tiny[size_class] + heap->inherited[size_class].until_sample,
		 1000);
	heap->hook_thread.rate = 3;
	end_thread();
	CHECK(mw_heap_self() == heap);
	CHECK_EQ(heap->until_sample_tiny[size_class] + heap->inherited[size_class].until_sample, 0);
	all_blocks_are_back();
}

#ifdef MW_HARDENED
/* Where what a thread frees of others' waits, although it links no block of its own. */
static void test_draws_start_anywhere(void) {
	uint32_t place = mw_heap_self()->harden.short_place;
	CHECK(place != 0);
	end_thread();
	/* The next thread goes on with it. */
	CHECK_EQ(mw_heap_self()->harden.short_place, place);
	all_blocks_are_back();
}
#endif

int main(void) {
#ifdef MW_HARDENED
	RUN(test_draws_start_anywhere);
#endif
	RUN(test_the_next_thread_goes_on);
	RUN(test_a_thread_pointer_is_not_enough);
	RUN(test_cached_memory_is_bounded);
	RUN(test_a_large_heap_keeps_some_of_its_pages);
	RUN(test_a_list_is_handed_on_uncounted);
	RUN(test_taken_blocks_count_for_the_taker);
	RUN(test_lists_hold_no_block_of_a_page_given_up);
	RUN(test_a_heap_with_a_rate_of_its_own_is_not_cached);
	RUN(test_room_is_not_lost_by_a_fork);
	RUN(test_none_is_cached_for_long);
	RUN(test_countdowns_of_a_rate_end_with_the_thread);
	RUN(test_samples_are_not_lost_between_threads);
	return 0;
}
