/* SPDX-License-Identifier: MIT
 * What lies between a page's live blocks goes back to the kernel: when the program asks, and when a
 * heap has become sparse.  It can be allocated again as if nothing was. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#include "heap/core/alloc.h"
#include "heap/core/free.h"
#include "heap/layout/link.h"
#include "heap/layout/size_class.h"
#include "heap/local/heap.h"
#include "heap/local/holes.h"
#include "heap/memory/chunk.h"
#include "heap/memory/decay.h"
#include "heap/sample/hooks.h"
#include "heap/stats/heap_walk.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "heap/thread/verify.h"
#include "os/memory/map.h"
#include "os/platform/kernel_calls.h"
#include "os/time/clock.h"
#include "quiet_hooks.h"
#include "state/stats.h"
#include "test.h"

enum { HEAP_BYTES = 24 << 20, LEAST_BYTES = 64, BLOCKS = HEAP_BYTES / LEAST_BYTES };

static unsigned char *blocks[BLOCKS];

static void fill(unsigned char *block, size_t bytes, unsigned mark) {
	memset(block, (int)(mark % 251), bytes);
}

static void make(unsigned i, size_t bytes) {
	CHECK((blocks[i] = mw_heap_alloc(bytes)) != NULL);
	fill(blocks[i], bytes, i);
}

static void check(unsigned i, size_t bytes) {
	for (size_t k = 0; k < bytes; k++)
		CHECK_EQ(blocks[i][k], i % 251);
}

static unsigned count_of(size_t bytes) {
	return (unsigned)(HEAP_BYTES / bytes);
}

/* All but the blocks whose slice's offset is just behind the start: one lives in each slice. */
static unsigned survivor_step(size_t bytes) {
	return (unsigned)(MW_SLICE_BYTES / bytes);
}

static void make_survivors(size_t bytes) {
	for (unsigned i = 0; i < count_of(bytes); i++)
		make(i, bytes);
	for (unsigned i = 0; i < count_of(bytes); i++)
		if (i % survivor_step(bytes) != 0) {
			mw_heap_free_slow(blocks[i]);
			blocks[i] = NULL;
		}
}

static void check_survivors(size_t bytes) {
	for (unsigned i = 0; i < count_of(bytes); i += survivor_step(bytes))
		check(i, bytes);
	mw_heap_check(mw_heap_self());
}

/* Every place anew: nothing may lie over what survived. */
static void fill_again(size_t bytes) {
	for (unsigned i = 0; i < count_of(bytes); i++)
		if (!blocks[i])
			make(i, bytes);
	mw_heap_check(mw_heap_self());
	for (unsigned i = 0; i < count_of(bytes); i++)
		check(i, bytes);
}

static void free_all(size_t bytes) {
	for (unsigned i = 0; i < count_of(bytes); i++) {
		mw_heap_free_slow(blocks[i]);
		blocks[i] = NULL;
	}
}

static size_t resident_bytes(size_t bytes) {
	size_t kernel_pages = 0;
	for (unsigned i = 0; i < count_of(bytes); i += survivor_step(bytes)) {
		unsigned char of[MW_SLICE_KERNEL_PAGES];
		uintptr_t slice = (uintptr_t)blocks[i] & ~(MW_SLICE_BYTES - 1);
		CHECK_EQ(mincore((void *)slice, MW_SLICE_BYTES, of), 0);
		for (unsigned k = 0; k < MW_SLICE_KERNEL_PAGES; k++)
			kernel_pages += of[k] & 1;
	}
	return kernel_pages * MW_OS_PAGE_BYTES;
}

/* What the map of all chunks says of pages of one size. */
static struct { size_t block_bytes, pages, used_blocks, hole_bytes; } mapped;

static void add_chunk(const mw_state_chunk_t *map) {
	CHECK_EQ(map->start % MW_CHUNK_BYTES, 0);
	for (unsigned i = 0; i < MW_STATE_SLICES; i++) {
		const mw_state_slice_t *slice = &map->slices[i];
		CHECK(slice->kind < MW_SLICE_KINDS);
		if (slice->kind != MW_SLICE_SMALL ||
		    slice->block_units * MW_STATE_BLOCK_UNIT_BYTES != mapped.block_bytes)
			continue;
		mapped.pages++;
		mapped.used_blocks += slice->used_blocks;
		mapped.hole_bytes += slice->hole_pages * MW_OS_PAGE_BYTES;
	}
}

static void ignore_range(uintptr_t start, uintptr_t limit, unsigned kind) {
	CHECK(start < limit && kind < MW_RANGE_KINDS);
}

static void ignore_class(const mw_heap_walk_class_t *class) {
	CHECK(class->used_bytes <= class->memory_bytes + MW_CHUNK_BYTES);
}

static void read_map(size_t bytes) {
	static const mw_heap_walk_sink_t sink = {
		.range = ignore_range, .size_class = ignore_class, .chunk = add_chunk};
	memset(&mapped, 0, sizeof mapped);
	mapped.block_bytes = mw_class_bytes[mw_class_of(bytes)];
	mw_heap_walk(&sink);
}

/* The map shows a page for each survivor, and the holes. */
static void check_map(size_t bytes, size_t hole_bytes) {
	read_map(bytes);
	size_t survivors = count_of(bytes) / survivor_step(bytes);
	CHECK(mapped.pages >= survivors && mapped.pages < survivors + MW_CHUNK_SLICES);
	CHECK(mapped.used_blocks >= survivors && mapped.used_blocks < 3 * survivors);
	CHECK_EQ(mapped.hole_bytes, hole_bytes);
}

static const size_t sizes[] = {64, 80, 512, 1024, 1536, 4096, 5120, 8192};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Where the kernel's pages have 64 KiB, as slices have, none is free beside a survivor. */
static bool has_holes(void) {
	return !MW_HARDEN_ON && mw_os_page_bytes() < MW_SLICE_BYTES;
}

static void trim_makes_holes(void) {
	for (unsigned s = 0; s < SIZES; s++) {
		size_t bytes = sizes[s], before = mw_holes_purged_bytes();
		make_survivors(bytes);
		mw_heap_trim();
		size_t went = mw_holes_purged_bytes() - before;
		CHECK(has_holes() ? went > HEAP_BYTES / 2 : went == 0);
		/* An emulator may tell nothing of what is resident. */
		if (has_holes() && TEST_SLOWNESS == 1)
			CHECK(resident_bytes(bytes) < HEAP_BYTES / 2);
		check_map(bytes, went);
		check_survivors(bytes);
		/* Again, with holes there. */
		mw_heap_trim();
		check_survivors(bytes);
		fill_again(bytes);
		free_all(bytes);
		mw_heap_trim();
	}
	mw_chunk_check();
}

/* Blocks that come and go in pages with holes, in no order. */
static void holes_come_and_go(void) {
	enum { BYTES = 320, TURNS = 200000 };
	uint64_t seed = 7;
	make_survivors(BYTES);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		unsigned i = (unsigned)(seed >> 33) % count_of(BYTES);
		if (blocks[i]) {
			check(i, BYTES);
			mw_heap_free_slow(blocks[i]);
			blocks[i] = NULL;
		} else {
			make(i, BYTES);
		}
		if (turn % (TURNS / 8) == 0) {
			mw_heap_trim();
			mw_heap_check(mw_heap_self());
		}
	}
	fill_again(BYTES);
	free_all(BYTES);
}

static bool refuse_purge(mw_os_call_t call) {
	return call == MW_OS_PURGE;
}

/* As with mlockall(2): holes that hold memory. */
static void kernel_may_refuse(void) {
	make_survivors(512);
	size_t before = mw_holes_purged_bytes();
	mw_os_fault_hook = refuse_purge;
	mw_heap_trim();
	mw_os_fault_hook = NULL;
	CHECK_EQ(mw_holes_purged_bytes(), before);
	check_survivors(512);
	fill_again(512);
	free_all(512);
}

/* ---- without a request ---- */

enum { SAMPLE_BYTES = 64 << 10 };

static uint64_t draw_objects(mw_hook_thread_t *thread, size_t size_bytes) {
	(void)thread;
	return SAMPLE_BYTES / size_bytes;
}

static mw_record_id_t sampled(mw_hook_thread_t *thread, const mw_sample_request_t *request) {
	(void)thread;
	(void)request;
	return 1;
}

/* The most that went between two frees of sampled blocks. */
static size_t most_at_once, purged_at_free;

static void sample_freed(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary) {
	(void)thread;
	(void)temporary;
	CHECK_EQ(record, 1);
	size_t went = mw_holes_purged_bytes() - purged_at_free;
	most_at_once = went > most_at_once ? went : most_at_once;
	purged_at_free += went;
}

static const mw_heap_hooks_t hooks = {.thread_start = quiet_thread,
				      .draw_objects = draw_objects,
				      .draw_bytes = quiet_draw_bytes,
				      .sampled = sampled,
				      .sample_freed = sample_freed,
				      .poll = quiet_thread,
				      .grew = quiet_grew,
				      .background = quiet_background};

static void sparse_heap_shrinks(void) {
	mw_heap_set_hooks(&hooks);
	mw_heap_trim();
	for (unsigned s = 0; s < SIZES; s++) {
		/* Until the delay has passed, what was missed keeps the next size's memory. */
		mw_heap_self()->holes = (mw_holes_t){.samples = mw_heap_self()->holes.samples};
		size_t bytes = sizes[s], before = mw_holes_purged_bytes();
		purged_at_free = before;
		most_at_once = 0;
		make_survivors(bytes);
		size_t went = mw_holes_purged_bytes() - before;
		CHECK(has_holes() ? went > HEAP_BYTES / 3 : went == 0);
		/* 8 MiB, and what a page has more: a call of free() must not take long. */
		CHECK(most_at_once <= ((size_t)8 << 20) + MW_SLICE_BYTES);
		check_survivors(bytes);
		fill_again(bytes);
		free_all(bytes);
		mw_heap_trim();
	}
	mw_heap_set_hooks(NULL);
	mw_chunk_check();
}

/* A program that fills again what it freed gives nothing back after the first time. */
static void need_that_goes_up_and_down_stays(void) {
	enum { BYTES = 512, TURNS = 6 };
	mw_heap_set_hooks(&hooks);
	mw_heap_self()->holes = (mw_holes_t){.samples = mw_heap_self()->holes.samples};
	size_t before = mw_holes_purged_bytes(), first = 0;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		make_survivors(BYTES);
		if (turn == 0)
			first = mw_holes_purged_bytes() - before;
		fill_again(BYTES);
		free_all(BYTES);
	}
	CHECK(mw_holes_purged_bytes() - before <= first + first / 4);
	mw_heap_set_hooks(NULL);
	mw_heap_trim();
}

/* purge_early:false or dirty_decay_ms:-1. */
static void nothing_goes_early_where_it_must_not(void) {
	mw_heap_set_hooks(&hooks);
	mw_chunk_set_decay(MW_DECAY_DEFAULT_NS, false);
	mw_heap_self()->holes = (mw_holes_t){.samples = mw_heap_self()->holes.samples};
	size_t before = mw_holes_purged_bytes();
	make_survivors(512);
	CHECK_EQ(mw_holes_purged_bytes(), before);
	mw_chunk_set_decay(MW_DECAY_DEFAULT_NS, true);
	free_all(512);
	mw_heap_set_hooks(NULL);
}

int main(void) {
	RUN(trim_makes_holes);
	RUN(holes_come_and_go);
	RUN(kernel_may_refuse);
	RUN(sparse_heap_shrinks);
	RUN(need_that_goes_up_and_down_stays);
	RUN(nothing_goes_early_where_it_must_not);
	return 0;
}
