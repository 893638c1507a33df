/* SPDX-License-Identifier: MIT
 * test_refusals.c -- the Nth call to the kernel refused, swept: allocation fails cleanly or goes
 * another way, and the heap goes on. */
#include <stdbool.h>
#include <stdint.h>

#include "heap/chunk.h"
#include "heap/fast.h"
#include "heap/heap.h"
#include "heap/huge.h"
#include "heap/stats.h"
#include "os/fault.h"
#include "test.h"

static long calls_left, refused;

static bool refuse_nth(mw_os_call_t call) {
	(void)call;
	if (--calls_left != 0)
		return false;
	refused++;
	return true;
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
		unsigned char *moved = mw_heap_resize(blocks[i], bigger);
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
	for (long n = 1; n <= 200; n++) {
		calls_left = n;
		mw_os_fault_hook = refuse_nth;
		workload();
		mw_os_fault_hook = NULL;
		workload();
		uint64_t stats[MW_STAT_COUNT];
		mw_heap_stats(stats);
		CHECK_EQ(stats[MW_STAT_in_use_bytes], 0);
		CHECK_EQ(stats[MW_STAT_huge_cached_bytes], 0);
	}
	CHECK(refused > 50);
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
	RUN(test_exhaustion_returns_null_and_passes);
	return 0;
}
