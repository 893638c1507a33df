/* SPDX-License-Identifier: MIT
 * test_verify.c -- the heap check passes over a heap in every state that its life has. */
#include <pthread.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/memory/chunk.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "heap/thread/verify.h"
#include "test.h"

#define BLOCKS 4000

static void check(void) {
	mw_heap_check(mw_heap_self());
	mw_chunk_check();
}

static void *free_all(void *argument) {
	void **blocks = argument;
	for (int i = 0; i < BLOCKS; i++)
		mw_fast_free(blocks[i]);
	mw_heap_thread_end();
	return NULL;
}

static void test_sizes_and_orders(void) {
	static void *blocks[BLOCKS];
	for (size_t bytes = 1; bytes < 300000; bytes = bytes * 3 + 1) {
		int count = bytes > 5000 ? 40 : BLOCKS;
		for (int i = 0; i < count; i++)
			CHECK((blocks[i] = mw_heap_alloc(bytes)) != NULL);
		check();
		for (int i = 0; i < count; i += 2)
			mw_fast_free(blocks[i]);
		check();
		for (int i = 1; i < count; i += 2)
			mw_fast_free(blocks[i]);
		check();
	}
	mw_heap_trim();
	check();
}

static void test_blocks_freed_elsewhere(void) {
	static void *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		CHECK((blocks[i] = mw_heap_alloc(48)) != NULL);
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, free_all, blocks), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	check();
	for (int i = 0; i < BLOCKS; i++)
		CHECK(mw_heap_alloc(48) != NULL);
	check();
}

/* Its list then holds blocks of the other thread's pages. */
static void *free_and_check(void *argument) {
	void **blocks = argument;
	mw_fast_free(mw_heap_alloc(1)); /* now it has a heap */
	for (int i = 0; i < BLOCKS; i++) {
		mw_fast_free(blocks[i]);
		if (i % 100 == 0)
			mw_heap_check(mw_heap_self());
	}
	mw_heap_thread_end();
	return NULL;
}

static void test_blocks_kept_elsewhere(void) {
	static void *blocks[BLOCKS];
	const size_t sizes[] = {64, 128, 1024, 2560};
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		for (int i = 0; i < BLOCKS; i++)
			CHECK((blocks[i] = mw_heap_alloc(sizes[k])) != NULL);
		pthread_t thread;
		CHECK_EQ(pthread_create(&thread, NULL, free_and_check, blocks), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		check();
	}
}

int main(void) {
	RUN(test_sizes_and_orders);
	RUN(test_blocks_freed_elsewhere);
	RUN(test_blocks_kept_elsewhere);
	return 0;
}
