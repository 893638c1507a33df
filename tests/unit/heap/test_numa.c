/* SPDX-License-Identifier: MIT
 * test_numa.c -- on a machine made up of three nodes: chunks, and abandoned pages, by the node of
 * the thread that takes them. */
#include <pthread.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/memory/chunk.h"
#include "heap/memory/harden_space.h"
#include "heap/thread/thread.h"
#include "os/memory/numa.h"
#include "os/platform/kernel_calls.h"
#include "test.h"

/* That can be taken. */
#define CHUNK_SLICES ((unsigned)__builtin_popcountll(MW_HARDEN_USABLE_SLICES))

static _Thread_local unsigned node_here;
static unsigned preferred[3];

static unsigned here(void) {
	return node_here;
}

static void prefer(void *base, size_t bytes, unsigned node) {
	CHECK((uintptr_t)base % MW_CHUNK_BYTES == 0 && bytes == MW_CHUNK_BYTES && node < 3);
	preferred[node]++;
}

static unsigned node_of(const void *block) {
	return mw_chunk_of(block)->node;
}

static void one_node_is_left_alone(void) {
	CHECK(mw_os_numa_here() == MW_OS_NUMA_ANY);
	/* All of a chunk: the next comes from another. */
	mw_page_t *page = mw_chunk_take(CHUNK_SLICES, 1);
	CHECK(page && node_of(page) == MW_OS_NUMA_ANY);
}

static void slices_come_from_the_own_node(void) {
	mw_os_numa_set_fake(here, prefer);
	mw_page_t *pages[3][40];
	for (unsigned i = 0; i < 40; i++)
		for (node_here = 0; node_here < 3; node_here++) {
			pages[node_here][i] = mw_chunk_take(1 + i % 5, 1);
			CHECK(node_of(pages[node_here][i]) == node_here);
		}
	/* 120 slices each: two chunks. */
	CHECK(preferred[0] == 2 && preferred[1] == 2 && preferred[2] == 2);
	for (node_here = 0; node_here < 3; node_here++)
		for (unsigned i = 0; i < 40; i++)
			mw_chunk_give(pages[(node_here + 1) % 3][i], MW_PAGE_NONE);
	/* What others freed is found again by its node. */
	for (unsigned i = 0; i < 40; i++)
		for (node_here = 0; node_here < 3; node_here++) {
			pages[node_here][i] = mw_chunk_take(1, 1);
			CHECK(node_of(pages[node_here][i]) == node_here);
		}
	CHECK(preferred[0] == 2 && preferred[1] == 2 && preferred[2] == 2);
	for (node_here = 0; node_here < 3; node_here++)
		for (unsigned i = 0; i < 40; i++)
			mw_chunk_give(pages[node_here][i], MW_PAGE_NONE);
}

static bool refuse(mw_os_call_t call) {
	return call == MW_OS_MAP;
}

static void another_node_is_better_than_none(void) {
	node_here = 0;
	mw_os_fault_hook = refuse;
	mw_page_t *pages[400];
	unsigned count = 0, foreign = 0;
	while (count < 400 && (pages[count] = mw_chunk_take(1, 1)) != NULL)
		foreign += node_of(pages[count++]) != 0;
	mw_os_fault_hook = NULL;
	CHECK_EQ(count, 6 * CHUNK_SLICES);
	CHECK_EQ(foreign, 4 * CHUNK_SLICES);
	while (count > 0)
		mw_chunk_give(pages[--count], MW_PAGE_NONE);
}

enum { BLOCK_BYTES = 2000, EACH = 32 * 4 };
static void *left[3][EACH];

static void *abandon_pages(void *node) {
	node_here = (unsigned)(uintptr_t)node;
	for (unsigned i = 0; i < EACH; i++)
		CHECK((left[node_here][i] = mw_heap_alloc(BLOCK_BYTES)) != NULL);
	/* A thread that takes an abandoned page needs one with free blocks. */
	for (unsigned i = 0; i < EACH; i += 2)
		mw_fast_free(left[node_here][i]);
	mw_heap_thread_end();
	return NULL;
}

static void *take_abandoned_pages(void *node) {
	node_here = (unsigned)(uintptr_t)node;
	void *block = mw_heap_alloc(BLOCK_BYTES);
	CHECK(block && node_of(block) == node_here);
	mw_fast_free(block);
	mw_heap_thread_end();
	return NULL;
}

static void run(void *(*body)(void *), uintptr_t node) {
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, body, (void *)node) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

static void abandoned_pages_are_taken_on_their_node(void) {
	for (uintptr_t node = 0; node < 3; node++)
		run(abandon_pages, node);
	size_t in_use = mw_chunk_in_use_bytes();
	for (uintptr_t node = 3; node-- > 0;)
		run(take_abandoned_pages, node);
	CHECK(mw_chunk_in_use_bytes() <= in_use);
}

int main(void) {
	RUN(one_node_is_left_alone);
	RUN(slices_come_from_the_own_node);
	RUN(another_node_is_better_than_none);
	RUN(abandoned_pages_are_taken_on_their_node);
	return 0;
}
