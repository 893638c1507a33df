/* SPDX-License-Identifier: MIT
 * Slices that a heap reserves for its next pages, where several threads run: the lock of the chunks
 * is taken less often, and no memory is kept from others. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/core/alloc.h"
#include "heap/core/free.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"
#include "heap/memory/chunk.h"
#include "heap/memory/limit.h"
#include "heap/remote/ownership.h"
#include "heap/stats/heap_walk.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "os/lock/lock.h"
#include "os/platform/single.h"
#include "test.h"

enum { CLASSES = 28, MOST_BYTES = 4096 };

static void *blocks[CLASSES];

/* Makes a block of each class up to 4 KiB, so a page of each, and returns how often that took the
 * lock of the chunks. */
static uint64_t make_pages(void) {
	mw_lock_stats_t before = {0}, after = {0};
	mw_lock_add_stats(mw_chunk_lock(), &before);
	for (unsigned c = 0; c < CLASSES; c++)
		CHECK((blocks[c] = mw_heap_alloc(mw_class_bytes[c])) != NULL);
	mw_lock_add_stats(mw_chunk_lock(), &after);
	CHECK_EQ(mw_heap_pages(mw_thread.heap), CLASSES);
	return after.takes - before.takes;
}

static void free_blocks(void) {
	for (unsigned c = 0; c < CLASSES; c++)
		mw_heap_free_slow(blocks[c]);
}

static void in_thread(void *(*work)(void *)) {
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, work, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	mw_heap_abandon_cached(false);
	mw_heap_trim();
	mw_chunk_check();
}

static uint64_t takes;

static void *make_and_end(void *unused) {
	takes = make_pages();
	CHECK(mw_thread.heap->reserved_slices > 0);
	free_blocks();
	mw_heap_thread_end();
	return unused;
}

/* 1, 1, 2, 2, 3, 5, 8 and 8 slices. */
static void a_heap_takes_several_slices(void) {
	size_t before = mw_heap_in_use_bytes();
	in_thread(make_and_end);
	CHECK(takes <= 9);
	CHECK_EQ(mw_heap_in_use_bytes(), before);
}

static void the_only_thread_takes_one(void) {
	static const char yes = 1;
	const char *real = mw_os_single_threaded;
	mw_os_single_threaded = &yes;
	CHECK_EQ(make_pages(), CLASSES);
	CHECK_EQ(mw_thread.heap->reserved_slices, 0);
	mw_os_single_threaded = real;
	free_blocks();
	mw_heap_trim();
}

static void trim_returns_the_rest(void) {
	make_pages();
	CHECK(mw_thread.heap->reserved_slices > 0);
	free_blocks();
	mw_heap_trim();
	CHECK_EQ(mw_thread.heap->reserved_slices, 0);
	CHECK_EQ(mw_heap_in_use_bytes(), 0);
	mw_chunk_check();
}

/* Slices that hold memory are used before reserved ones, which hold none. */
static void memory_is_used_again(void) {
	mw_page_t *page = mw_chunk_take(1, 1);
	CHECK(page != NULL);
	make_pages();
	uint32_t reserved = mw_thread.heap->reserved_slices;
	CHECK(reserved > 0);
	page->start[0] = 1;
	mw_chunk_give(page, MW_PAGE_NONE);
	CHECK_EQ(mw_chunk_dirty_bytes(), MW_SLICE_BYTES);
	void *block = mw_heap_alloc(MOST_BYTES + 1);
	CHECK_EQ(mw_chunk_dirty_bytes(), 0);
	CHECK_EQ(mw_thread.heap->reserved_slices, reserved);
	mw_heap_free_slow(block);
	free_blocks();
	mw_heap_trim();
}

/* A limit counts reserved slices: a heap that has some uses them, and reserves no more. */
static void limits_are_exact(void) {
	make_pages();
	uint32_t reserved = mw_thread.heap->reserved_slices;
	CHECK(reserved > 0);
	mw_limit_set(SIZE_MAX, mw_heap_in_use_bytes());
	void *first = mw_heap_alloc(MOST_BYTES + 1), *second = NULL;
	CHECK(first != NULL);
	CHECK_EQ(mw_thread.heap->reserved_slices, reserved - 1);
	mw_heap_give_reserved(mw_thread.heap);
	mw_limit_set(SIZE_MAX, mw_heap_in_use_bytes());
	CHECK(!mw_heap_alloc(2 * MOST_BYTES));
	mw_limit_set(SIZE_MAX, mw_heap_in_use_bytes() + MW_SLICE_BYTES);
	CHECK((second = mw_heap_alloc(2 * MOST_BYTES)) != NULL);
	CHECK_EQ(mw_thread.heap->reserved_slices, 0);
	mw_limit_set(SIZE_MAX, SIZE_MAX);
	mw_heap_free_slow(first);
	mw_heap_free_slow(second);
	free_blocks();
	mw_heap_trim();
}

static unsigned free_slices, more_slices;

static void ignore_range(uintptr_t start, uintptr_t limit, unsigned kind) {
	(void)start, (void)limit, (void)kind;
}

static void ignore_class(const mw_heap_walk_class_t *class) {
	(void)class;
}

static void count_slices(const mw_state_chunk_t *map) {
	for (unsigned i = 0; i < MW_STATE_SLICES; i++) {
		free_slices += map->slices[i].kind == MW_SLICE_FREE;
		more_slices += map->slices[i].kind == MW_SLICE_MORE;
	}
}

static void maps_show_them_as_free(void) {
	static const mw_heap_walk_sink_t sink = {
		.range = ignore_range, .size_class = ignore_class, .chunk = count_slices};
	make_pages();
	CHECK(mw_thread.heap->reserved_slices > 0);
	mw_heap_walk(&sink);
	CHECK_EQ(more_slices, 0);
	CHECK(free_slices >= mw_thread.heap->reserved_slices);
	free_blocks();
	mw_heap_trim();
}

int main(void) {
	if (MW_HARDEN_ON)
		return 0;
	RUN(a_heap_takes_several_slices);
	RUN(the_only_thread_takes_one);
	RUN(trim_returns_the_rest);
	RUN(memory_is_used_again);
	RUN(limits_are_exact);
	RUN(maps_show_them_as_free);
	return 0;
}
