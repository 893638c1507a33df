/* SPDX-License-Identifier: MIT
 * test_limit.c -- the heap's limits: what is purged, told and refused, and by how many threads at
 * once. */
#include "heap/memory/limit.h"

#include <pthread.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/core/resize.h"
#include "heap/large/huge.h"
#include "heap/memory/chunk.h"
#include "heap/memory/decay.h"
#include "heap/sample/hooks.h"
#include "heap/stats/stats.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "quiet_hooks.h"
#include "test.h"

#define MIB ((size_t)1 << 20)

static unsigned told[MW_PRESSURE_COUNT];
static size_t told_wanted, told_limit;

static void pressed(mw_pressure_t pressure, size_t wanted_bytes, size_t limit_bytes) {
	told[pressure]++;
	told_wanted = wanted_bytes;
	told_limit = limit_bytes;
}

static const mw_heap_hooks_t hooks = {
	.thread_start = quiet_thread,
	.draw_objects = quiet_draw_objects,
	.draw_bytes = quiet_draw_bytes,
	.poll = quiet_thread,
	.grew = quiet_grew,
	.pressed = pressed,
};

static uint64_t stat(unsigned row) {
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_stats(stats);
	return stats[row];
}

/* A chain of blocks, until there is no more memory, or `max_bytes`. */
static void *fill(size_t bytes, size_t max_bytes) {
	void **chain = NULL;
	for (size_t total = 0; total < max_bytes; total += bytes) {
		void **block = mw_heap_alloc(bytes);
		if (!block)
			break;
		CHECK(mw_heap_in_use_bytes() <= 64 * MIB);
		*block = chain;
		chain = block;
	}
	return chain;
}

static void empty(void *chain) {
	while (chain) {
		void *next = *(void **)chain;
		mw_fast_free(chain);
		chain = next;
	}
	mw_heap_trim();
}

static void hard_limit_refuses(void) {
	mw_limit_set(SIZE_MAX, 64 * MIB);
	static const size_t sizes[] = {48, 4000, 30000, 700000, 5000000};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint64_t refusals = stat(MW_STAT_hard_limit_refusals);
		void *chain = fill(sizes[i], SIZE_MAX);
		CHECK(mw_heap_in_use_bytes() > 64 * MIB - sizes[i] - MIB);
		CHECK(stat(MW_STAT_hard_limit_refusals) > refusals);
		/* Others are refused as well, and what is there can be used. */
		CHECK(mw_heap_alloc(64 * MIB) == NULL);
		CHECK(mw_heap_alloc_aligned(4 * MIB, 5 * MIB) == NULL);
		CHECK(mw_heap_alloc(SIZE_MAX / 2) == NULL);
		empty(chain);
		CHECK(mw_heap_in_use_bytes() < MIB);
	}
	CHECK_EQ(stat(MW_STAT_hard_limit_bytes), 64 * MIB);
	mw_heap_report_limits();
	CHECK(told[MW_PRESSURE_HARD] >= 1 && told[MW_PRESSURE_SOFT] == 0);
	CHECK(told_limit == 64 * MIB && told_wanted > 64 * MIB);
}

static void hard_limit_holds_for_growth(void) {
	mw_limit_set(SIZE_MAX, 64 * MIB);
	char *block = mw_heap_alloc(40 * MIB);
	CHECK(block);
	block[0] = 7;
	CHECK(mw_heap_resize(block, 65 * MIB) == NULL);
	CHECK_EQ(mw_heap_usable_bytes(block), 40 * MIB);
	block = mw_heap_resize(block, 60 * MIB);
	CHECK(block && block[0] == 7);
	block = mw_heap_resize(block, 30 * MIB);
	char *large = mw_heap_alloc(300000);
	void *chain = fill(60000, SIZE_MAX);
	CHECK(large && mw_heap_resize(large, 2 * MIB + 100000) == NULL);
	mw_fast_free(large);
	mw_fast_free(block);
	empty(chain);
	CHECK_EQ(mw_heap_in_use_bytes(), 0);
}

/* What was freed and kept makes place for what is wanted now. */
static void kept_memory_does_not_count(void) {
	mw_chunk_set_decay(MW_DECAY_NEVER_NS, false);
	mw_huge_set_decay(MW_DECAY_NEVER_NS, false);
	mw_limit_set(SIZE_MAX, 64 * MIB);
	void *small = fill(500, 40 * MIB), *huge = mw_heap_alloc(10 * MIB);
	while (small) {
		void *next = *(void **)small;
		mw_fast_free(small);
		small = next;
	}
	mw_fast_free(huge);
	CHECK(stat(MW_STAT_dirty_bytes) > 30 * MIB);
	CHECK(stat(MW_STAT_huge_cached_bytes) == 10 * MIB);
	huge = mw_heap_alloc(50 * MIB);
	CHECK(huge);
	CHECK_EQ(stat(MW_STAT_dirty_bytes), 0);
	CHECK(stat(MW_STAT_mapped_bytes) >= 50 * MIB);
	mw_fast_free(huge);
	empty(NULL);
	mw_chunk_set_decay(MW_DECAY_DEFAULT_NS, true);
	mw_huge_set_decay(MW_DECAY_DEFAULT_NS, true);
}

static void soft_limit_purges_and_tells_once(void) {
	mw_limit_set(32 * MIB, SIZE_MAX);
	uint64_t passes = stat(MW_STAT_soft_limit_passes);
	memset(told, 0, sizeof told);
	void *first = fill(60000, 16 * MIB);
	mw_heap_report_limits();
	CHECK_EQ(told[MW_PRESSURE_SOFT], 0);
	void *second = fill(60000, 30 * MIB);
	mw_heap_report_limits();
	CHECK_EQ(told[MW_PRESSURE_SOFT], 1);
	CHECK(told_limit == 32 * MIB && told_wanted > 32 * MIB);
	void *third = mw_heap_alloc(4 * MIB);
	CHECK(third);
	mw_heap_report_limits();
	CHECK_EQ(told[MW_PRESSURE_SOFT], 1); /* still above */
	CHECK_EQ(stat(MW_STAT_soft_limit_passes), passes + 1);
	empty(second);
	second = fill(60000, 30 * MIB); /* it was below meanwhile */
	mw_heap_report_limits();
	CHECK_EQ(told[MW_PRESSURE_SOFT], 2);
	/* Above it nothing is kept. */
	for (int i = 0; i < 20; i++) {
		void *block = mw_heap_alloc(3 * MIB);
		mw_fast_free(block);
		CHECK(stat(MW_STAT_huge_cached_bytes) <= 3 * MIB);
	}
	mw_fast_free(third);
	empty(first);
	empty(second);
	CHECK_EQ(told[MW_PRESSURE_HARD], 0);
}

static _Atomic size_t got_bytes;

static void *take_until_refused(void *unused) {
	(void)unused;
	void *blocks[64];
	unsigned count = 0;
	for (; count < 64 && (blocks[count] = mw_heap_alloc(3 * MIB)) != NULL; count++) {
		got_bytes += 3 * MIB;
		CHECK(mw_heap_in_use_bytes() <= 64 * MIB);
	}
	got_bytes -= count * 3 * MIB;
	while (count > 0)
		mw_fast_free(blocks[--count]);
	mw_heap_thread_end();
	return NULL;
}

static void threads_do_not_pass_it_together(void) {
	mw_limit_set(SIZE_MAX, 64 * MIB);
	for (int round = 0; round < 50; round++) {
		pthread_t threads[8];
		for (int i = 0; i < 8; i++)
			CHECK(pthread_create(&threads[i], NULL, take_until_refused, NULL) == 0);
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
		/* Nothing is left counted. */
		void *block = mw_heap_alloc(60 * MIB);
		CHECK(block);
		mw_fast_free(block);
	}
}

int main(void) {
	mw_heap_set_hooks(&hooks);
	RUN(hard_limit_refuses);
	RUN(hard_limit_holds_for_growth);
	RUN(kept_memory_does_not_count);
	RUN(soft_limit_purges_and_tells_once);
	RUN(threads_do_not_pass_it_together);
	return 0;
}
