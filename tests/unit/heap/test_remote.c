/* SPDX-License-Identifier: MIT
 * test_remote.c -- blocks that other threads free: batches, their way home, pages that get a new
 * owner, and that nothing is lost on the way. */
#include "heap/remote/remote.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/layout/remote_word.h"
#include "heap/local/tcache.h"
#include "heap/memory/limit.h"
#include "heap/stats/heap_walk.h"
#include "heap/stats/stats.h"
#include "heap/thread/cached_heap.h"
#include "heap/thread/flush.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "heap/thread/verify.h"
#include "test.h"

enum { BLOCKS_MAX = 200000 };
static char *blocks[BLOCKS_MAX];
static unsigned count;
static size_t block_bytes;

static void run(void *(*body)(void *), void *argument) {
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, body, argument), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static uint64_t stat_of(unsigned stat) {
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_stats(stats);
	return stats[stat];
}

static void end_thread(void) {
	mw_heap_thread_end();
	mw_thread = (mw_thread_t)MW_THREAD_INITIAL;
}

static void everything_is_back(void) {
	end_thread();
	mw_heap_trim();
	CHECK_EQ(mw_heap_live_bytes(), 0);
	CHECK_EQ(stat_of(MW_STAT_abandoned_pages), 0);
	CHECK_EQ(mw_heap_in_use_bytes(), 0);
}

static void make(size_t bytes, unsigned how_many) {
	CHECK(how_many <= BLOCKS_MAX);
	block_bytes = bytes;
	count = how_many;
	for (unsigned i = 0; i < count; i++) {
		blocks[i] = mw_heap_alloc(bytes);
		CHECK(blocks[i] != NULL);
		memset(blocks[i], (int)(i % 251), bytes);
	}
}

static void drop(unsigned i) {
	CHECK_EQ((unsigned char)blocks[i][0], i % 251);
	CHECK_EQ((unsigned char)blocks[i][block_bytes - 1], i % 251);
	mw_fast_free(blocks[i]);
}

static void *drop_all(void *unused) {
	(void)unused;
	for (unsigned i = 0; i < count; i++)
		drop(i);
	mw_heap_thread_end();
	return NULL;
}

/* Of more memory than a heap may hold that is cached. */
static unsigned blocks_for(void *bytes) {
	return (unsigned)(3 * MW_CACHED_HEAP_BYTES / ((uintptr_t)bytes + 8));
}

static void *make_thousands(void *bytes) {
	make((size_t)(uintptr_t)bytes, blocks_for(bytes));
	mw_heap_thread_end();
	return NULL;
}

/* The calling thread gets a heap. */
static void get_heap(void) {
	mw_fast_free(mw_heap_alloc(4096));
}

/* One that has batches alone. */
static void get_heap_without_bins(void) {
	get_heap();
	mw_tcache_set_limit(mw_thread.heap, 0, MW_TINY_MAX_BYTES, 0);
}

/* ---- the block freed last ---- */

static void *free_twice_into_bin(void *unused) {
	get_heap();
	mw_fast_free(blocks[0]);
	mw_fast_free(blocks[0]);
	return unused;
}

static void *free_twice_into_batch(void *unused) {
	get_heap_without_bins();
	mw_fast_free(blocks[0]);
	mw_fast_free(blocks[0]);
	return unused;
}

static void *free_twice_into_page(void *unused) {
	get_heap_without_bins();
	mw_fast_free(blocks[0]);
	mw_remote_flush(mw_thread.heap);
	mw_fast_free(blocks[0]);
	return unused;
}

/* In a process of its own, before this one has threads. */
static void second_free_is_noticed(void *(*body)(void *)) {
	int ends[2];
	char text[256] = "";
	CHECK_EQ(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		make(64, 10);
		run(body, NULL);
		_exit(0);
	}
	close(ends[1]);
	size_t got = 0;
	ssize_t length;
	while (got < sizeof text - 1 &&
	       (length = read(ends[0], text + got, sizeof text - 1 - got)) > 0)
		got += (size_t)length;
	close(ends[0]);
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK(strstr(text, "double free of a block of size class 64 bytes") != NULL);
}

static void test_a_block_freed_twice_by_another_thread_is_noticed(void) {
	second_free_is_noticed(free_twice_into_bin);
	second_free_is_noticed(free_twice_into_batch);
	second_free_is_noticed(free_twice_into_page);
}

/* ---- batches ---- */

#ifndef MW_HARDENED
static mw_page_t *page_of(unsigned i) {
	return mw_page_of_slice((uintptr_t)blocks[i]);
}

/* Blocks that are back in the page or in its delayed list. */
static uint32_t sent(const mw_page_t *page) {
	return page->carved - page->used + mw_remote_length(mw_remote_word(page), page->used);
}

static void *fill_a_batch(void *limit) {
	get_heap_without_bins();
	unsigned in_batch = (unsigned)(uintptr_t)limit;
	for (unsigned i = 0; i < in_batch; i++)
		drop(i);
	CHECK_EQ(sent(page_of(0)), 0);
	drop(in_batch);
	CHECK_EQ(sent(page_of(0)), in_batch);
	mw_remote_flush(mw_thread.heap);
	CHECK_EQ(sent(page_of(0)), in_batch + 1);
	mw_heap_thread_end();
	return NULL;
}

static void test_a_full_batch_is_sent(void) {
	static const struct {
		size_t bytes;
		unsigned limit;
	} cases[] = {{16, 32}, {64, 32}, {128, 16}, {320, 6}, {1000, 2}};
	for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
		make(cases[k].bytes, 40);
		CHECK(page_of(0) == page_of(39));
		run(fill_a_batch, (void *)(uintptr_t)cases[k].limit);
		for (unsigned i = cases[k].limit + 1; i < count; i++)
			drop(i);
	}
	everything_is_back();
}

static void *free_at_thread_end(void *without_bins) {
	if (without_bins)
		get_heap_without_bins();
	else
		get_heap();
	drop(0);
	CHECK_EQ(sent(page_of(0)), 0);
	mw_heap_thread_end();
	CHECK_EQ(sent(page_of(0)), 1);
	/* A thread without a heap keeps nothing. */
	mw_thread = (mw_thread_t)MW_THREAD_INITIAL;
	drop(1);
	CHECK_EQ(sent(page_of(0)), 2);
	return NULL;
}

static void test_a_thread_that_ends_keeps_no_blocks_of_others(void) {
	for (unsigned without_bins = 0; without_bins < 2; without_bins++) {
		make(64, 10);
		run(free_at_thread_end, without_bins ? blocks : NULL);
		for (unsigned i = 2; i < count; i++)
			drop(i);
		everything_is_back();
	}
}

/* Two blocks whose pages have one place in the table of batches. */
static bool find_collision(unsigned *other) {
	for (unsigned i = 1; i < count; i++)
		if (mw_chunk_of(blocks[i]) != mw_chunk_of(blocks[0]) &&
		    mw_page_slice_index(page_of(i)) == mw_page_slice_index(page_of(0))) {
			*other = i;
			return true;
		}
	return false;
}

static void *free_in_turns(void *other) {
	unsigned second = *(unsigned *)other;
	get_heap_without_bins();
	for (unsigned i = 0; i < 8; i++) {
		drop(i);
		CHECK_EQ(sent(page_of(second)), i);
		drop(second + i);
		CHECK_EQ(sent(page_of(0)), i + 1);
	}
	mw_heap_thread_end();
	CHECK_EQ(sent(page_of(second)), 8);
	return NULL;
}

static void test_pages_with_one_place_in_the_table_do_not_mix(void) {
	make(1000, 3 * MW_CHUNK_BYTES / 1024);
	unsigned other;
	CHECK(find_collision(&other));
	CHECK(page_of(7) == page_of(0) && page_of(other + 7) == page_of(other));
	run(free_in_turns, &other);
	for (unsigned i = 0; i < count; i++)
		if (i >= 8 && (i < other || i >= other + 8))
			drop(i);
	everything_is_back();
}

/* ---- bins ---- */

static unsigned in_bin(size_t bytes) {
	return mw_remote_bin_length(mw_thread.heap, mw_class_of(bytes));
}

/* A heap whose list of the class is empty, and which knows its next sample of it. */
static void get_heap_with_empty_list(size_t bytes) {
	mw_fast_free(mw_heap_alloc(bytes));
	mw_heap_head_flush(mw_thread.heap, mw_class_of(bytes));
}

static bool is_one_of(const void *block, char *const *list, unsigned length) {
	for (unsigned i = 0; i < length; i++)
		if (list[i] == block)
			return true;
	return false;
}

static void *free_and_allocate(void *unused) {
	get_heap_with_empty_list(block_bytes);
	for (unsigned i = 0; i < MW_TCACHE_FIRST_BLOCKS; i++)
		drop(i);
	CHECK_EQ(in_bin(block_bytes), MW_TCACHE_FIRST_BLOCKS);
	drop(MW_TCACHE_FIRST_BLOCKS); /* no room: the page's batch begins */
	CHECK_EQ(in_bin(block_bytes), MW_TCACHE_FIRST_BLOCKS);
	CHECK_EQ(sent(page_of(0)), 0);
	mw_heap_check(mw_thread.heap);
	char *made[MW_TCACHE_FIRST_BLOCKS + 1];
	for (unsigned i = 0; i < MW_TCACHE_FIRST_BLOCKS; i++) {
		made[i] = mw_heap_alloc(block_bytes);
		CHECK(is_one_of(made[i], blocks, MW_TCACHE_FIRST_BLOCKS));
		CHECK(!is_one_of(made[i], made, i));
	}
	CHECK_EQ(in_bin(block_bytes), 0);
	made[MW_TCACHE_FIRST_BLOCKS] = mw_heap_alloc(block_bytes);
	CHECK(mw_page_of_slice((uintptr_t)made[MW_TCACHE_FIRST_BLOCKS]) != page_of(0));
	for (unsigned i = 0; i <= MW_TCACHE_FIRST_BLOCKS; i++)
		mw_fast_free(made[i]);
	mw_heap_thread_end();
	CHECK_EQ(sent(page_of(0)), MW_TCACHE_FIRST_BLOCKS + 1);
	return unused;
}

static void test_the_next_refill_takes_the_bin(void) {
	static const size_t sizes[] = {64, 300, 1000};
	for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		make(sizes[k], 40);
		run(free_and_allocate, NULL);
		for (unsigned i = MW_TCACHE_FIRST_BLOCKS + 1; i < count; i++)
			drop(i);
		everything_is_back();
	}
}

static void *overflow_and_use_up(void *unused) {
	get_heap_with_empty_list(block_bytes);
	unsigned size_class = mw_class_of(block_bytes), at = 0;
	const uint8_t *limit = &mw_thread.heap->tcache_limit[size_class];
	for (unsigned expected = MW_TCACHE_FIRST_BLOCKS; expected < MW_TCACHE_MAX_BLOCKS;) {
		CHECK_EQ(*limit, expected);
		for (unsigned i = 0; i <= expected; i++)
			drop(at++);
		CHECK_EQ(in_bin(block_bytes), expected);
		char *made = mw_heap_alloc(block_bytes); /* the refill finds an overflowed bin */
		expected *= 2;
		CHECK_EQ(*limit, expected);
		CHECK_EQ(mw_remote_bin(mw_thread.heap, size_class)->room, expected);
		mw_fast_free(made);
		mw_heap_head_flush(mw_thread.heap, size_class);
		/* The next block begins neither in the bin nor in the batch. */
		mw_remote_flush(mw_thread.heap);
		mw_heap_check(mw_thread.heap);
	}
	while (at < count)
		drop(at++);
	mw_heap_thread_end();
	return unused;
}

static void test_a_bin_that_overflows_and_runs_empty_gets_more_room(void) {
	make(64, 400);
	run(overflow_and_use_up, NULL);
	everything_is_back();
}

static void *free_small_ones(void *unused) {
	get_heap();
	drop(0);
	CHECK_EQ(in_bin(block_bytes), 0);
	drop(1);
	mw_remote_flush(mw_thread.heap);
	CHECK_EQ(sent(page_of(0)), 2);
	mw_heap_thread_end();
	return unused;
}

/* Their neighbours in the cache line may be in use by another thread. */
static void test_blocks_below_a_cache_line_have_no_bin(void) {
	make(48, 10);
	run(free_small_ones, NULL);
	for (unsigned i = 2; i < count; i++)
		drop(i);
	everything_is_back();
}

/* ---- pages that get another owner ---- */

/* Of a heap that is too large to be cached: the next thread has the heap without its pages. */
static void test_full_pages_are_the_next_threads_of_the_heap(void) {
	run(make_thousands, (void *)64);
	get_heap_without_bins();
	mw_page_t *page = page_of(0);
	CHECK_EQ(page->state, MW_PAGE_FULL);
	CHECK(atomic_load(&page->last_heap) == mw_thread.heap);
	CHECK(!mw_fast_is_own(mw_page_entry(page)));
	drop(0);
	CHECK(atomic_load(&page->heap) == mw_thread.heap);
	CHECK_EQ(page->state, MW_PAGE_QUEUED);
	CHECK(mw_fast_is_own(mw_page_entry(page)));
	uint32_t used = page->used;
	drop(1);
	CHECK_EQ(page->used, used - 1);
	for (unsigned i = 2; i < count; i++)
		drop(i);
	everything_is_back();
}

static void *drop_first_of_full_page(void *unused) {
	get_heap_without_bins();
	mw_page_t *page = page_of(0);
	drop(0);
	mw_remote_flush(mw_thread.heap);
	CHECK_EQ(page->state, MW_PAGE_ABANDONED);
	drop(1);
	mw_remote_flush(mw_thread.heap);
	CHECK_EQ(mw_remote_length(mw_remote_word(page), page->used), 1);
	mw_heap_thread_end();
	return unused;
}

/* It gets the page when it needs one. */
static void test_a_thread_that_frees_leaves_a_full_page_to_those_that_allocate(void) {
	make(64, 4000);
	mw_page_t *page = page_of(0);
	CHECK_EQ(page->state, MW_PAGE_FULL);
	CHECK(mw_remote_is_full(mw_remote_word(page)));
	size_t listed = stat_of(MW_STAT_abandoned_pages);
	run(drop_first_of_full_page, NULL);
	CHECK_EQ(stat_of(MW_STAT_abandoned_pages), listed + 1);
	static void *more[10000];
	unsigned made = 0;
	while (page->state != MW_PAGE_QUEUED && made < 10000)
		CHECK((more[made++] = mw_heap_alloc(64)) != NULL);
	CHECK(mw_fast_is_own(mw_page_entry(page)));
	CHECK_EQ(stat_of(MW_STAT_abandoned_pages), listed);
	while (made > 0)
		mw_fast_free(more[--made]);
	for (unsigned i = 2; i < count; i++)
		drop(i);
	everything_is_back();
}

/* One block of each page, so that each page has one to give. */
static void *make_and_leave(void *bytes) {
	make((size_t)(uintptr_t)bytes, blocks_for(bytes));
	for (unsigned i = 0; i < count; i += 2)
		mw_fast_free(blocks[i]);
	mw_heap_thread_end();
	return NULL;
}

static void test_abandoned_pages_come_before_new_ones(void) {
	run(make_and_leave, (void *)512);
	size_t abandoned = stat_of(MW_STAT_abandoned_pages);
	CHECK(abandoned > 10);
	uint64_t takes = stat_of(MW_STAT_page_takes);
	for (unsigned i = 0; i < count / 2; i += 2)
		CHECK((blocks[i] = mw_heap_alloc(block_bytes)) != NULL);
	CHECK_EQ(stat_of(MW_STAT_page_takes), takes);
	CHECK(stat_of(MW_STAT_abandoned_pages) < abandoned);
	for (unsigned i = 0; i < count; i++)
		if (i < count / 2 || i % 2 == 1)
			mw_fast_free(blocks[i]);
	everything_is_back();
}
#endif

/* ---- nothing is lost ---- */

static void test_blocks_of_every_class_return_to_their_pages(void) {
	for (unsigned c = MW_CLASS_LEAST; c < MW_CLASS_COUNT; c++) {
		size_t bytes = mw_heap_bytes_for(16, mw_class_bytes[c] - 8);
		unsigned slices = mw_class_run_slices[c] > 3 ? mw_class_run_slices[c] : 3;
		make(bytes, (unsigned)(slices * MW_SLICE_BYTES / bytes) + 2);
		run(drop_all, NULL);
		make(bytes, count);
		drop_all(NULL);
		mw_thread = (mw_thread_t)MW_THREAD_INITIAL;
	}
	everything_is_back();
}

static void test_blocks_of_every_class_free_abandoned_pages(void) {
	for (unsigned c = MW_CLASS_LEAST; c < MW_CLASS_COUNT; c++) {
		run(make_thousands, (void *)(uintptr_t)mw_class_bytes[c] - 8);
		run(drop_all, NULL);
		everything_is_back();
	}
}

enum { SLOTS = 3000, WORKERS = 4, WAVES = 3, STEPS = 60000 };
static _Atomic(uint64_t *) slots[SLOTS];

static void check_and_free(uint64_t *block) {
	size_t words = block[0] & 0xffff;
	for (size_t i = 1; i < words; i++)
		CHECK(block[i] == block[0] + i);
	mw_fast_free(block);
}

static void *hammer(void *seed) {
	mw_rng_t rng;
	mw_rng_init(&rng, (uint64_t)(uintptr_t)seed);
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t random = mw_rng_next(&rng);
		/* Mostly small: 16 B to 1 KiB, one in 16 up to 16 KiB. */
		size_t words = random % 16 ? 2 + random / 16 % 127 : 2 + random / 16 % 2047;
		uint64_t *block = mw_heap_alloc(words * 8);
		CHECK(block != NULL);
		block[0] = (random & ~(uint64_t)0xffff) | words;
		for (size_t k = 1; k < words; k++)
			block[k] = block[0] + k;
		/* Release and acquire: the block's contents. */
		uint64_t *other = atomic_exchange_explicit(&slots[(random >> 32) % SLOTS], block,
							   memory_order_acq_rel);
		if (other)
			check_and_free(other);
	}
	mw_heap_thread_end();
	return NULL;
}

static void test_random_frees_across_threads(void) {
	for (unsigned wave = 0; wave < WAVES; wave++) {
		pthread_t threads[WORKERS];
		for (unsigned i = 0; i < WORKERS; i++)
			CHECK_EQ(pthread_create(&threads[i], NULL, hammer,
						(void *)(uintptr_t)(wave * WORKERS + i + 1)),
				 0);
		for (unsigned i = 0; i < WORKERS; i++)
			CHECK_EQ(pthread_join(threads[i], NULL), 0);
	}
	for (unsigned i = 0; i < SLOTS; i++) {
		uint64_t *block = atomic_exchange(&slots[i], NULL);
		if (block)
			check_and_free(block);
	}
	everything_is_back();
}

int main(void) {
	RUN(test_a_block_freed_twice_by_another_thread_is_noticed);
#ifndef MW_HARDENED
	RUN(test_a_full_batch_is_sent);
	RUN(test_a_thread_that_ends_keeps_no_blocks_of_others);
	RUN(test_pages_with_one_place_in_the_table_do_not_mix);
	RUN(test_the_next_refill_takes_the_bin);
	RUN(test_a_bin_that_overflows_and_runs_empty_gets_more_room);
	RUN(test_blocks_below_a_cache_line_have_no_bin);
	RUN(test_full_pages_are_the_next_threads_of_the_heap);
	RUN(test_a_thread_that_frees_leaves_a_full_page_to_those_that_allocate);
	RUN(test_abandoned_pages_come_before_new_ones);
#endif
	RUN(test_blocks_of_every_class_return_to_their_pages);
	RUN(test_blocks_of_every_class_free_abandoned_pages);
	RUN(test_random_frees_across_threads);
	return 0;
}
