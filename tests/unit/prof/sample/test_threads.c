/* SPDX-License-Identifier: MIT
 * test_threads.c -- the ring of thread names: readers see only entries that have memory. */
#include "prof/sample/threads.h"

#include "os/platform/kernel_calls.h"
#include "prof/sample/thread_table.h"
#include "prof_fixture.h"
#include "test.h"

enum { FIRST_ID = 1000, COUNT = 100 };

static mw_thread_table_t table;

static bool refuse_map(mw_os_call_t call) {
	return call == MW_OS_MAP;
}

static void take_a_sample(void) {
	bool sampled;
	start(1, UINT64_MAX, false);
	CHECK_EQ(fake_small(&thread, 1, (void *)16, 1, 16, &sampled), 1);
	CHECK(sampled);
}

/* A thread whose entry would lie in a segment that does not exist has none. */
static void entries_without_memory_are_not_counted(void) {
	take_a_sample();
	mw_os_fault_hook = refuse_map;
	unsigned named = 0;
	while (mw_threads_put(0, FIRST_ID + named, 1) != 0)
		CHECK(++named < COUNT);
	CHECK_EQ(mw_threads_put(0, FIRST_ID + named, 1), 0);
	mw_thread_table_fill(&table);
	for (unsigned i = 0; i < named; i++)
		CHECK(mw_thread_table_entry(&table, FIRST_ID + i) != MW_THREAD_UNKNOWN);
	CHECK_EQ(mw_thread_table_entry(&table, FIRST_ID + named), MW_THREAD_UNKNOWN);
	/* The next thread gets the entry when there is memory again. */
	mw_os_fault_hook = NULL;
	uint32_t number = mw_threads_put(0, FIRST_ID + named, 1);
	CHECK(number != 0);
	mw_thread_table_fill(&table);
	CHECK_EQ(mw_thread_table_entry(&table, FIRST_ID + named), number - 1);
}

/* A thread keeps its entry until the ring is full and another one takes it. */
static void the_oldest_entry_is_taken(void) {
	take_a_sample();
	uint64_t capacity = mw_store_header()->sections[MW_SECTION_THREADS].capacity;
	uint32_t first = mw_threads_put(0, FIRST_ID, 1);
	CHECK_EQ(mw_threads_put(first, FIRST_ID, 2), first);
	for (uint32_t i = 1; i <= capacity; i++)
		CHECK_EQ(mw_threads_put(0, FIRST_ID + i, 1), first + i);
	mw_thread_table_fill(&table);
	CHECK_EQ(table.count, capacity);
	CHECK_EQ(mw_thread_table_entry(&table, FIRST_ID), MW_THREAD_UNKNOWN);
	CHECK(mw_thread_table_entry(&table, FIRST_ID + 1) != MW_THREAD_UNKNOWN);
	CHECK_EQ(mw_threads_put(first, FIRST_ID, 3), first + capacity + 1);
}

int main(void) {
	RUN_IN_CHILD(entries_without_memory_are_not_counted);
	RUN_IN_CHILD(the_oldest_entry_is_taken);
	return 0;
}
