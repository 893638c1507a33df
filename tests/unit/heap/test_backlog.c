/* SPDX-License-Identifier: MIT
 * test_backlog.c -- others free all that a sleeping thread made: the memory of its pages goes back
 * though only it could give their slices back, and it can use them again. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap/fast.h"
#include "heap/heap.h"
#include "heap/inbox.h"
#include "os/clock.h"
#include "os/fault.h"
#include "test.h"

enum { TOTAL_BYTES = 16 << 20, BLOCKS_MAX = 60000, KERNEL_PAGE = 4096 };

static char *blocks[BLOCKS_MAX];
static unsigned count;

static void *free_all(void *unused) {
	(void)unused;
	for (unsigned i = 0; i < count; i++)
		mw_fast_free(blocks[i]);
	mw_heap_thread_end();
	return NULL;
}

static void make_all(size_t bytes) {
	count = (unsigned)(TOTAL_BYTES / bytes);
	CHECK(count <= BLOCKS_MAX);
	for (unsigned i = 0; i < count; i++) {
		blocks[i] = mw_heap_alloc(bytes);
		memset(blocks[i], (int)i, bytes);
	}
	for (unsigned i = 0; i < count; i++) {
		CHECK_EQ((unsigned char)blocks[i][0], i % 256);
		CHECK_EQ((unsigned char)blocks[i][bytes - 1], i % 256);
	}
}

/* Of the kernel pages that hold the blocks' starts. */
static unsigned resident(void) {
	unsigned found = 0;
	for (unsigned i = 0; i < count; i++) {
		unsigned char in_core = 0;
		uintptr_t page = (uintptr_t)blocks[i] / KERNEL_PAGE * KERNEL_PAGE;
		CHECK(mincore((void *)page, KERNEL_PAGE, &in_core) == 0);
		found += in_core & 1;
	}
	return found;
}

static _Atomic uint64_t test_ns = 1;

static uint64_t test_clock(void) {
	return atomic_load(&test_ns);
}

/* By a thread that ends before the owner looks again, `nap_ns` later. */
static void free_by_another(size_t bytes, uint64_t nap_ns) {
	make_all(bytes);
	CHECK_EQ(resident(), count);
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, free_all, NULL), 0);
	pthread_join(thread, NULL);
	atomic_fetch_add(&test_ns, nap_ns);
}

static void freed_by_another(size_t bytes) {
	free_by_another(bytes, 2 * MW_BACKLOG_NAP_NS);
	/* The first pages went before anybody could tell that the owner sleeps. */
	CHECK(resident() < count / 6);
}

static _Atomic bool purging, purged;

/* Stays in the first purge of a page for long enough that a fork would get past it. */
static bool linger(mw_os_call_t call) {
	if (call == MW_OS_PURGE && !atomic_exchange(&purging, true)) {
		usleep(100000);
		atomic_store(&purged, true);
	}
	return false;
}

/* Else the child would have a page whose blocks are neither free nor live. */
static void test_a_fork_waits_for_the_purge_of_a_page(void) {
	make_all(1000);
	mw_os_fault_hook = linger;
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, free_all, NULL), 0);
	while (!atomic_load(&purging))
		usleep(100);
	mw_heap_fork_prepare();
	CHECK(atomic_load(&purged));
	mw_heap_fork_parent();
	pthread_join(thread, NULL);
	mw_os_fault_hook = NULL;
	/* Afterwards pages are purged as before. */
	freed_by_another(1000);
}

static void test_memory_of_a_sleeping_owner_goes_back(void) {
	static const size_t sizes[] = {1000, 300, 5000, 12000};
	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		freed_by_another(sizes[i]);
	make_all(1000);
	for (unsigned i = 0; i < count; i++)
		mw_fast_free(blocks[i]);
}

/* Who was only waiting finds more of its pages as they were, but no more than so many. */
static void test_who_takes_naps_is_purged_less(void) {
	enum { BYTES = 1000, SLICE = 65536 };
	freed_by_another(BYTES);
	for (unsigned i = 0; i < 4; i++)
		free_by_another(BYTES, MW_BACKLOG_NAP_NS / 2);
	size_t kept_bytes = (size_t)resident() * BYTES;
	CHECK(kept_bytes > 2 * MW_BACKLOG_LEAST * SLICE);
	CHECK(kept_bytes < 5 * MW_BACKLOG_MOST * SLICE / 4);
	free_by_another(BYTES, 2 * MW_BACKLOG_NAP_NS);
	freed_by_another(BYTES);
}

enum { FEW = 64, FEW_BYTES = 64 };
static char *few[FEW];

static void *free_few_and_all(void *unused) {
	/* Only a thread with a heap has lists. */
	mw_fast_free(mw_heap_alloc(4096));
	for (unsigned i = 0; i < FEW; i++)
		mw_fast_free(few[i]);
	return free_all(unused);
}

/* Such a thread never runs out of blocks, and so has no need of its pages. */
static void test_who_lives_on_lists_of_others_looks_after_its_pages(void) {
	unsigned size_class = mw_class_of(FEW_BYTES);
	for (unsigned i = 0; i < FEW; i++)
		few[i] = mw_heap_alloc(FEW_BYTES);
	while (*mw_head_of(size_class))
		CHECK(mw_heap_alloc(FEW_BYTES) != NULL);
	make_all(1000);
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, free_few_and_all, NULL), 0);
	pthread_join(thread, NULL);
	size_t before = mw_heap_in_use_bytes();
	CHECK(before >= TOTAL_BYTES);
	char *block = mw_heap_alloc(FEW_BYTES);
	CHECK(mw_heap_in_use_bytes() <= before - TOTAL_BYTES / 2);
	mw_fast_free(block);
}

int main(void) {
	mw_os_clock_set_source(test_clock);
	RUN(test_who_lives_on_lists_of_others_looks_after_its_pages);
	RUN(test_memory_of_a_sleeping_owner_goes_back);
	RUN(test_who_takes_naps_is_purged_less);
	RUN(test_a_fork_waits_for_the_purge_of_a_page);
	return 0;
}
