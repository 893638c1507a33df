/* SPDX-License-Identifier: MIT
 * test_head.c -- tcache lists above tiny grow where it pays, up to a part of the thread's heap. */
#include "heap/local/tcache.h"

#include <pthread.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/thread/thread.h"
#include "heap/thread/verify.h"
#include "test.h"

enum { BYTES = 4096, FEW = 64, MANY = 4096, ROUNDS = 20 };

static void *blocks[MANY];

/* The head of the class overflows, and runs empty. */
static void make_and_free(unsigned count) {
	for (unsigned i = 0; i < count; i++) {
		blocks[i] = mw_heap_alloc(BYTES);
		CHECK(blocks[i] != NULL);
	}
	for (unsigned i = 0; i < count; i++)
		mw_fast_free(blocks[i]);
}

static size_t part_of(const mw_heap_t *heap) {
	return heap->pages_most * MW_SLICE_BYTES / MW_TCACHE_GROWTH_PART;
}

static void test_heads_grow_with_the_heap(void) {
	unsigned size_class = mw_class_of(BYTES);
	mw_heap_t *heap = mw_heap_self();
	CHECK(heap != NULL);
	uint32_t first = heap->tcache_limit[size_class];
	for (unsigned round = 0; round < ROUNDS; round++)
		make_and_free(FEW);
	CHECK(heap->tcache_grown_bytes <= part_of(heap));
	CHECK(heap->tcache_limit[size_class] < MW_TCACHE_MAX_BLOCKS);
	for (unsigned round = 0; round < ROUNDS; round++)
		make_and_free(MANY);
	CHECK(heap->tcache_grown_bytes <= part_of(heap));
	CHECK(heap->tcache_limit[size_class] > first);
	CHECK_EQ(heap->tcache_limit[size_class], MW_TCACHE_MAX_BLOCKS);
}

/* Its thread pointer, and so its tcache, lie in the chunk of the blocks that it frees. */
static void *make_and_free_beside_stack(void *stack) {
	make_and_free(FEW);
	CHECK(mw_chunk_of(blocks[0]) == mw_chunk_of(stack));
#ifdef __GLIBC__ /* musl keeps it beside a stack that the program brings */
	CHECK(mw_chunk_of(&mw_thread) == mw_chunk_of(stack));
#endif
	mw_heap_check(mw_thread.heap);
	mw_heap_thread_end();
	return NULL;
}

static void test_stack_of_a_thread_may_be_a_block(void) {
	size_t stack_bytes = 512 << 10;
	char *stack = mw_heap_alloc(stack_bytes);
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	CHECK_EQ(pthread_attr_setstack(&attr, stack, stack_bytes), 0);
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, &attr, make_and_free_beside_stack, stack), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	mw_fast_free(stack);
}

int main(void) {
	RUN(test_stack_of_a_thread_may_be_a_block);
	RUN(test_heads_grow_with_the_heap);
	return 0;
}
