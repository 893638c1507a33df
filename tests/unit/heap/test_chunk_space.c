/* SPDX-License-Identifier: MIT
 * test_chunk_space.c -- chunks whose slices are unmapped: counts, heap walks, what comes to lie in
 * the hole, refusals, and use again. */
#include "heap/memory/chunk.h"

#include <string.h>
#include <sys/mman.h>

#include "heap/core/alloc.h"
#include "heap/core/free.h"
#include "heap/large/huge.h"
#include "heap/layout/link.h"
#include "heap/memory/harden_space.h"
#include "heap/stats/heap_walk.h"
#include "os/platform/kernel_calls.h"
#include "quiet_hooks.h"
#include "state/stats.h"
#include "test.h"

enum { BLOCKS = 256 };
#define BLOCK_BYTES ((size_t)512 << 10)
#define HOLE_BYTES (MW_CHUNK_BYTES - MW_SLICE_BYTES)

static char *blocks[BLOCKS];

static void make_blocks(void) {
	for (unsigned i = 0; i < BLOCKS; i++) {
		CHECK((blocks[i] = mw_heap_alloc(BLOCK_BYTES)) != NULL);
		memset(blocks[i], (int)i, BLOCK_BYTES);
	}
}

static void free_blocks(void) {
	for (unsigned i = 0; i < BLOCKS; i++) {
		CHECK_EQ((unsigned char)blocks[i][BLOCK_BYTES - 1], (unsigned char)i);
		mw_heap_free_slow(blocks[i]);
	}
}

static size_t chunk_count(void) {
	mw_chunk_stats_t stats;
	mw_chunk_stats(&stats);
	return stats.chunks;
}

static size_t walked_bytes;

static void see_range(uintptr_t start, uintptr_t limit, unsigned kind) {
	if (kind == MW_RANGE_CHUNKS)
		walked_bytes += limit - start;
}

static void see_class(const mw_heap_walk_class_t *class) {
	(void)class;
}

static size_t walk(void) {
	walked_bytes = 0;
	mw_heap_walk(&(mw_heap_walk_sink_t){.range = see_range, .size_class = see_class});
	return walked_bytes;
}

static void test_space_goes_and_comes_back(void) {
	make_blocks();
	size_t chunks = chunk_count();
	CHECK(chunks >= 32);
	CHECK_EQ(walk(), chunks * MW_CHUNK_BYTES);
	CHECK_EQ(mw_chunk_unmap_free(), 0);
	free_blocks();
	size_t gone = mw_chunk_unmap_free() / HOLE_BYTES;
	CHECK(gone >= 31);
	CHECK_EQ(chunk_count(), chunks - gone);
	CHECK_EQ(walk(), (chunks - gone) * MW_CHUNK_BYTES + gone * MW_SLICE_BYTES);
	CHECK_EQ(mw_chunk_unmap_free(), 0);
	CHECK(mw_chunk_dirty_bytes() <= (chunks - gone) * MW_CHUNK_BYTES);
	/* Purging meets chunks that have nothing any more. */
	mw_chunk_purge(true);
	mw_chunk_check();
	mw_chunk_t *newest = mw_chunk_newest();
	make_blocks();
	/* Blocks of the hardened library begin at random slices, and some wait when they are freed:
	 * the second time may take a chunk less. */
	size_t again = chunk_count();
	CHECK(again <= chunks && again + (MW_HARDEN_ON ? 2 : 0) >= chunks);
	CHECK(mw_chunk_newest() == newest);
	CHECK_EQ(walk(), again * MW_CHUNK_BYTES + (chunks - again) * MW_SLICE_BYTES);
	mw_chunk_check();
	free_blocks();
}

/* What lies in the holes is left alone, and chunks come from elsewhere until it is gone. */
static void test_holes_of_which_others_took_some(void) {
	make_blocks();
	char *taken[BLOCKS];
	unsigned taken_count = 0;
	uintptr_t last = 0;
	for (unsigned i = 0; i < BLOCKS; i++)
		if ((uintptr_t)blocks[i] / MW_CHUNK_BYTES != last) {
			last = (uintptr_t)blocks[i] / MW_CHUNK_BYTES;
			taken[taken_count++] = (char *)(last * MW_CHUNK_BYTES) + MW_CHUNK_BYTES / 2;
		}
	free_blocks();
	CHECK(mw_chunk_unmap_free() > 0);
	size_t placed = 0;
	for (unsigned i = 0; i < taken_count; i++) {
		void *mapped = mmap(taken[i], 4096, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (mapped == taken[i])
			memset(taken[placed++] = mapped, 99, 4096);
	}
	CHECK(placed >= 31);
	make_blocks();
	free_blocks();
	for (size_t i = 0; i < placed; i++) {
		for (size_t at = 0; at < 4096; at++)
			CHECK_EQ(taken[i][at], 99);
		CHECK(munmap(taken[i], 4096) == 0);
	}
	mw_chunk_unmap_free();
	make_blocks();
	free_blocks();
	mw_chunk_check();
}

/* A huge block may begin in a hole: the address map says so, and it is freed as one. */
static void test_a_huge_block_in_a_hole(void) {
	make_blocks();
	char *inside = (char *)((uintptr_t)blocks[BLOCKS / 2] & ~(MW_CHUNK_BYTES - 1)) + HOLE_BYTES;
	free_blocks();
	mw_chunk_unmap_free();
	size_t usable_bytes;
	bool zeroed;
	enum { TRIES = 64 };
	char *huge[TRIES];
	/* The kernel fills holes from the highest down; whether it comes to this one or not, all
	 * are huge blocks. */
	for (unsigned i = 0; i < TRIES; i++) {
		huge[i] = mw_huge_alloc(NULL, HOLE_BYTES, 4096, &usable_bytes, &zeroed);
		CHECK(huge[i] && mw_address_kind((uintptr_t)huge[i]) == MW_MAP_HUGE);
		memset(huge[i], (int)i, HOLE_BYTES);
	}
	make_blocks();
	for (unsigned i = 0; i < TRIES; i++) {
		CHECK_EQ(huge[i][HOLE_BYTES - 1], (char)i);
		CHECK_EQ(mw_huge_bytes("test", huge[i]), usable_bytes);
		mw_huge_free(huge[i]);
	}
	free_blocks();
	CHECK(mw_address_kind((uintptr_t)inside) != MW_MAP_FOREIGN);
	mw_chunk_check();
}

static bool refuse_unmapping(mw_os_call_t call) {
	return call == MW_OS_UNMAP;
}

static bool refuse_mapping(mw_os_call_t call) {
	return call == MW_OS_MAP;
}

static void test_refusals(void) {
	make_blocks();
	free_blocks();
	mw_os_fault_hook = refuse_unmapping;
	CHECK_EQ(mw_chunk_unmap_free(), 0);
	mw_os_fault_hook = NULL;
	mw_chunk_unmap_free();
	mw_os_fault_hook = refuse_mapping;
	mw_heap_free_slow(mw_heap_alloc((size_t)3 << 20));
	mw_os_fault_hook = NULL;
	make_blocks();
	free_blocks();
	mw_chunk_check();
}

int main(void) {
	RUN(test_space_goes_and_comes_back);
	RUN(test_holes_of_which_others_took_some);
	RUN(test_a_huge_block_in_a_hole);
	RUN(test_refusals);
	return 0;
}
