/* SPDX-License-Identifier: MIT
 * test_sleeping_owner.c -- other threads free blocks of a thread that sleeps: what they free comes
 * back to use without that thread, but for the few pages that it allocates from. */
#include <pthread.h>
#include <string.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/layout/remote_word.h"
#include "heap/memory/limit.h"
#include "heap/remote/remote.h"
#include "heap/thread/flush.h"
#include "heap/thread/thread.h"
#include "test.h"

enum { TOTAL_BYTES = 16 << 20, BLOCKS_MAX = 60000, OWNED_SLICES = 8 };

static char *blocks[BLOCKS_MAX];
static unsigned count, step;
static size_t block_bytes;

static void run(void *(*body)(void *)) {
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, body, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void make_all(size_t bytes) {
	block_bytes = bytes;
	count = (unsigned)(TOTAL_BYTES / bytes);
	CHECK(count <= BLOCKS_MAX);
	for (unsigned i = 0; i < count; i++) {
		blocks[i] = mw_heap_alloc(bytes);
		memset(blocks[i], (int)(i % 251), bytes);
	}
}

/* Every `step`th block, from the first on. */
static void *free_some(void *unused) {
	mw_fast_free(mw_heap_alloc(16)); /* gets a heap */
	for (unsigned i = 0; i < count; i += step) {
		CHECK_EQ((unsigned char)blocks[i][0], i % 251);
		CHECK_EQ((unsigned char)blocks[i][block_bytes - 1], i % 251);
		mw_fast_free(blocks[i]);
	}
	mw_heap_thread_end();
	return unused;
}

static void *make_as_many(void *unused) {
	for (unsigned i = 0; i < count; i += step)
		CHECK((blocks[i] = mw_heap_alloc(block_bytes)) != NULL);
	mw_heap_thread_end();
	return unused;
}

static const size_t sizes[] = {300, 1000, 5000, 12000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void free_the_rest(void) {
	for (unsigned i = 0; i < count; i++)
		mw_fast_free(blocks[i]);
}

static void test_slices_go_back_while_the_owner_sleeps(void) {
	step = 1;
	for (unsigned k = 0; k < SIZES; k++) {
		size_t before = mw_heap_in_use_bytes();
		make_all(sizes[k]);
		CHECK(mw_heap_in_use_bytes() >= before + TOTAL_BYTES);
		run(free_some);
		CHECK(mw_heap_in_use_bytes() <=
		      before + (OWNED_SLICES + mw_class_run_slices[mw_class_of(sizes[k])]) *
				       MW_SLICE_BYTES);
	}
}

/* What may be new of a third of TOTAL_BYTES.  In the hardened library up to 15 free blocks of each
 * page wait. */
#ifdef MW_HARDENED
#define NEW_BYTES (TOTAL_BYTES / 4)
#else
#define NEW_BYTES (OWNED_SLICES * MW_SLICE_BYTES)
#endif

static void test_other_threads_use_what_was_freed_while_the_owner_sleeps(void) {
	step = 3;
	for (unsigned k = 0; k < SIZES; k++) {
		make_all(sizes[k]);
		size_t before = mw_heap_in_use_bytes();
		run(free_some);
		run(make_as_many);
		CHECK(mw_heap_in_use_bytes() <= before + NEW_BYTES);
		free_the_rest();
	}
}

#ifndef MW_HARDENED /* where freed blocks wait */
/* The page of a block in the middle of all. */
static mw_page_t *full_page(void) {
	mw_page_t *page = mw_page_of_slice((uintptr_t)blocks[count / 2]);
	CHECK_EQ(page->state, MW_PAGE_FULL);
	CHECK(mw_remote_is_full(mw_remote_word(page)));
	return page;
}

static void test_the_owner_takes_a_full_page_back_by_freeing(void) {
	for (unsigned k = 0; k < SIZES; k++) {
		make_all(sizes[k]);
		mw_page_t *page = full_page();
		bool tiny = mw_class_of(block_bytes) < MW_TINY_CLASSES;
		/* Above tiny frees go into the tcache list first, by the fast path. */
		CHECK_EQ(mw_fast_is_own(mw_page_entry(page)), !tiny);
		uint32_t used = page->used;
		mw_fast_free(blocks[count / 2]);
		CHECK_EQ(page->used, tiny ? used - 1 : used);
		mw_heap_head_flush(mw_thread.heap, mw_class_of(block_bytes));
		CHECK(mw_fast_is_own(mw_page_entry(page)));
		CHECK_EQ(page->state, MW_PAGE_QUEUED);
		CHECK_EQ(page->used, used - 1);
		blocks[count / 2] = mw_heap_alloc(block_bytes);
		free_the_rest();
	}
}
#endif

static uint32_t pages(void) {
	return atomic_load(&mw_thread.heap->pages);
}

static void test_a_heap_counts_its_full_pages_until_another_thread_ends_them(void) {
	uint32_t before = mw_thread.heap ? pages() : 0;
	make_all(1000);
	CHECK(pages() >= before + TOTAL_BYTES / MW_SLICE_BYTES);
	step = 1;
	run(free_some);
	CHECK(pages() <= before + OWNED_SLICES);
}

int main(void) {
	RUN(test_slices_go_back_while_the_owner_sleeps);
	RUN(test_other_threads_use_what_was_freed_while_the_owner_sleeps);
#ifndef MW_HARDENED
	RUN(test_the_owner_takes_a_full_page_back_by_freeing);
#endif
	RUN(test_a_heap_counts_its_full_pages_until_another_thread_ends_them);
	return 0;
}
