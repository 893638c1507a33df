/* SPDX-License-Identifier: MIT
 * test_refusals.c -- the Nth call to the kernel refused, or all from the Nth on, swept: allocation
 * fails cleanly or goes another way, and the heap goes on. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/core/resize.h"
#include "heap/large/huge.h"
#include "heap/sample/hooks.h"
#include "heap/stats/stats.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "os/platform/kernel_calls.h"
#include "os/time/clock.h"
#include "quiet_hooks.h"
#include "test.h"

static long calls_left, refused;

static bool refuse_nth(mw_os_call_t call) {
	if (--calls_left != 0)
		return false;
	refused++;
	(void)call;
	return true;
}

/* Not unmapping: what cannot be unmapped stays, and a thousand times 9 MiB is too much. */
static bool refuse_from_nth(mw_os_call_t call) {
	if (--calls_left > 0 || call == MW_OS_UNMAP)
		return false;
	refused++;
	return true;
}

static mw_os_call_t refused_kind;

static bool refuse_nth_of_kind(mw_os_call_t call) {
	return call == refused_kind && refuse_nth(call);
}

/* Access is refused as by a full table of mappings: closing memory works, opening it again does
 * not, neither in part nor as a whole. */
static bool refuse_three_of_kind(mw_os_call_t call) {
	if (call != refused_kind)
		return false;
	calls_left--;
	bool refuses = calls_left <= 0 && calls_left > -3;
	refused += refuses;
	return refuses;
}

/* Blocks of every kind, resized and freed; a refusal shows as NULL, never as harm. */
static void workload(void) {
	static const size_t sizes[] = {24,     700,     5000,    20000,  60000,
				       200000, 1500000, 3000000, 9000000};
	enum { COUNT = 72 };
	unsigned char *blocks[COUNT];
	for (unsigned i = 0; i < COUNT; i++) {
		size_t bytes = sizes[i % 9];
		blocks[i] = i % 3 ? mw_heap_alloc(bytes) : mw_heap_alloc_aligned(8192, bytes);
		if (!blocks[i])
			continue;
		blocks[i][0] = (unsigned char)i;
		blocks[i][bytes - 1] = (unsigned char)i;
	}
	for (unsigned i = 0; i < COUNT; i++) {
		if (!blocks[i])
			continue;
		size_t bytes = sizes[i % 9], bigger = bytes * 3;
		/* One of each of the largest, as most of the time would go into copies. */
		bool grows = bytes < 1000000 || i < 9;
		unsigned char *moved = grows ? mw_heap_resize(blocks[i], bigger) : NULL;
		if (moved) {
			blocks[i] = moved;
			CHECK_EQ(moved[0], (unsigned char)i);
			moved[bigger - 1] = 1;
		}
		CHECK_EQ(blocks[i][bytes - 1], (unsigned char)i);
		mw_fast_free(blocks[i]);
	}
	mw_heap_trim();
}

static void test_every_call_refused_once(void) {
	/* One run makes 46 calls, 110 with guard pages. */
	long runs_without = 0;
	for (long n = 1; runs_without < 5; n++) {
		long refused_before = refused;
		calls_left = n;
		mw_os_fault_hook = refuse_nth;
		workload();
		runs_without += refused == refused_before;
		mw_os_fault_hook = NULL;
		workload();
		uint64_t stats[MW_STAT_COUNT];
		mw_heap_stats(stats);
		CHECK_EQ(stats[MW_STAT_in_use_bytes], 0);
		CHECK_EQ(stats[MW_STAT_huge_cached_bytes], 0);
	}
	CHECK(refused > 30);
}

/* What was closed and could not be opened is opened when it is used next. */
static void test_access_refused_three_times(void) {
	refused_kind = MW_OS_PROTECT;
	for (long n = 1, refused_before = -1; refused_before != refused; n++) {
		refused_before = refused;
		calls_left = n;
		mw_os_fault_hook = refuse_three_of_kind;
		workload();
		mw_os_fault_hook = NULL;
		workload();
	}
}

/* ---- the same with samples, threads, time that passes, and more huge blocks than the first table
 * holds ---- */

static uint64_t clock_ns = 1;
static mw_record_id_t next_record = 1;
static long live_records;

static uint64_t now(void) {
	return clock_ns;
}

static uint64_t draw_objects(mw_hook_thread_t *thread, size_t size_bytes) {
	(void)thread;
	return 1 + size_bytes % 3;
}

static uint64_t draw_bytes(mw_hook_thread_t *thread) {
	(void)thread;
	return 100000;
}

static mw_record_id_t sampled(mw_hook_thread_t *thread, const mw_sample_request_t *request) {
	(void)thread;
	CHECK(request->block != NULL);
	live_records++;
	return next_record++;
}

static void sample_freed(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary) {
	(void)thread;
	(void)temporary;
	CHECK(record > 0 && record < next_record);
	live_records--;
}

enum { HUGE_COUNT = 140, SMALL_COUNT = 400, CALLS_OF_EACH_KIND = 6 };
static unsigned char *handed_over[SMALL_COUNT];

static void *allocate_in_thread(void *unused) {
	for (unsigned i = 0; i < SMALL_COUNT; i++) {
		size_t bytes = 16 + i % 40 * 150;
		handed_over[i] = mw_heap_alloc(bytes);
		if (handed_over[i])
			handed_over[i][bytes - 1] = (unsigned char)i;
	}
	mw_heap_thread_end();
	return unused;
}

static void busy_workload(void) {
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, allocate_in_thread, NULL), 0);
	pthread_join(thread, NULL);
	static unsigned char *huge[HUGE_COUNT];
	for (unsigned i = 0; i < HUGE_COUNT; i++) {
		huge[i] = mw_heap_alloc_zeroed(((size_t)3 << 20) + i * 4096);
		if (huge[i]) {
			CHECK(huge[i][((size_t)3 << 20) - 1] == 0);
			huge[i][0] = (unsigned char)i;
		}
		/* Kept for reuse, taken again or grown; a few, as reuse clears 3 MiB. */
		if (i % 7 == 3 && i < 20 && huge[i - 1]) {
			mw_fast_free(huge[i - 1]);
			huge[i - 1] = NULL;
		}
	}
	clock_ns += (uint64_t)700 * 1000 * 1000;
	for (unsigned i = 0; i < SMALL_COUNT; i++) {
		if (!handed_over[i])
			continue;
		CHECK_EQ(handed_over[i][15 + i % 40 * 150], (unsigned char)i);
		mw_fast_free(handed_over[i]);
	}
	clock_ns += (uint64_t)2000 * 1000 * 1000;
	for (unsigned i = 0; i < HUGE_COUNT; i++) {
		if (!huge[i])
			continue;
		/* One in ten, as each is copied. */
		size_t bytes = ((size_t)3 << 20) + i * 40000;
		unsigned char *moved = i % 10 ? NULL : mw_heap_resize(huge[i], bytes);
		huge[i] = moved ? moved : huge[i];
		CHECK_EQ(huge[i][0], (unsigned char)i);
		mw_fast_free(huge[i]);
	}
	mw_heap_trim();
}

/* Runs the workload with the Nth call refused, and again without. */
static void refuse_in_busy(bool (*refuse)(mw_os_call_t call), long n) {
	calls_left = n;
	mw_os_fault_hook = refuse;
	busy_workload();
	mw_os_fault_hook = NULL;
	busy_workload();
	CHECK_EQ(live_records, 0);
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_stats(stats);
	CHECK_EQ(stats[MW_STAT_huge_blocks], 0);
	CHECK_EQ(stats[MW_STAT_huge_cached_bytes], 0);
	CHECK_EQ(stats[MW_STAT_abandoned_pages], 0);
}

static void sweep_busy(bool (*refuse)(mw_os_call_t call)) {
	for (long n = 1; n <= 200; n += n < 15 ? 1 : 19)
		refuse_in_busy(refuse, n);
}

/* Chunks of the hardened library lie at random places, so it is chance of which kind the Nth call
 * of all is. */
static void sweep_kind(mw_os_call_t kind) {
	refused_kind = kind;
	for (long n = 1; n <= CALLS_OF_EACH_KIND; n++) {
		long before = refused;
		refuse_in_busy(refuse_nth_of_kind, n);
		CHECK_EQ(refused, before + 1);
	}
}

static void test_samples_threads_and_reuse_under_refusals(void) {
	static const mw_heap_hooks_t hooks = {
		.thread_start = quiet_thread,
		.draw_objects = draw_objects,
		.draw_bytes = draw_bytes,
		.sampled = sampled,
		.sample_freed = sample_freed,
		.poll = quiet_thread,
		.grew = quiet_grew,
	};
	mw_heap_trim();
	mw_heap_set_hooks(&hooks);
	mw_os_clock_set_source(now);
	sweep_busy(refuse_nth);
	sweep_busy(refuse_from_nth);
	sweep_kind(MW_OS_MAP);
	sweep_kind(MW_OS_UNMAP);
	sweep_kind(MW_OS_PURGE);
	sweep_kind(MW_OS_REMAP);
	mw_os_clock_set_source(NULL);
}

static bool refuse_all(mw_os_call_t call) {
	return call == MW_OS_MAP || call == MW_OS_REMAP;
}

static void test_exhaustion_returns_null_and_passes(void) {
	void *kept = mw_heap_alloc(100);
	mw_os_fault_hook = refuse_all;
	CHECK(mw_heap_alloc((size_t)64 << 20) == NULL);
	CHECK(mw_heap_alloc_aligned((size_t)1 << 30, 100) == NULL);
	CHECK(mw_heap_alloc(SIZE_MAX) == NULL);
	CHECK(mw_heap_alloc(PTRDIFF_MAX) == NULL);
	void **chain = NULL;
	size_t count = 0;
	for (void **block; (block = mw_heap_alloc(65536)) != NULL; count++) {
		*block = chain;
		chain = block;
	}
	mw_os_fault_hook = NULL;
	CHECK(mw_heap_alloc(65536) != NULL);
	while (chain) {
		void **next = *chain;
		mw_fast_free(chain);
		chain = next;
	}
	mw_fast_free(kept);
}

int main(void) {
	RUN(test_every_call_refused_once);
	RUN(test_access_refused_three_times);
	RUN(test_exhaustion_returns_null_and_passes);
	RUN(test_samples_threads_and_reuse_under_refusals);
	return 0;
}
