/* SPDX-License-Identifier: MIT
 * test_slot_cache.c -- places for samples that a thread keeps: they are taken again without the
 * slabs' lock, are not live meanwhile, go on to others when there are many or the thread ends, and
 * pages of many keep their memory. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/core/lookup.h"
#include "heap/core/resize.h"
#include "heap/memory/chunk.h"
#include "heap/sample/hooks.h"
#include "heap/sample/sampled.h"
#include "heap/sample/slot_cache.h"
#include "heap/stats/heap_walk.h"
#include "heap/thread/thread.h"
#include "quiet_hooks.h"
#include "test.h"

static uint32_t samples, freed;

static uint64_t draw_objects(mw_hook_thread_t *thread, size_t size_bytes) {
	(void)thread;
	(void)size_bytes;
	return MW_DRAW_EVERY;
}
static mw_record_id_t sampled(mw_hook_thread_t *thread, const mw_sample_request_t *request) {
	(void)thread;
	CHECK(request->block != NULL);
	return ++samples;
}
static void sample_freed(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary) {
	(void)thread;
	(void)temporary;
	CHECK(record > 0 && record <= samples);
	freed++;
}
static const mw_heap_hooks_t hooks = {.thread_start = quiet_thread,
				      .draw_objects = draw_objects,
				      .draw_bytes = quiet_draw_bytes,
				      .sampled = sampled,
				      .sample_freed = sample_freed,
				      .poll = quiet_thread,
				      .grew = quiet_grew,
				      .background = quiet_background};

static uint64_t lock_takes(void) {
	mw_lock_stats_t sum = {0};
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		mw_lock_add_stats(mw_sampled_lock(c), &sum);
	return sum.takes;
}

static void test_what_was_freed_comes_again(void) {
	for (size_t bytes = 32; bytes <= 65536; bytes *= 2) {
		void *first = mw_heap_alloc(bytes);
		mw_fast_free(first);
		uint64_t takes = lock_takes();
		for (int i = 0; i < 100; i++) {
			/* Smaller classes share the slab. */
			void *block = mw_heap_alloc(bytes - (size_t)i % 9);
			CHECK(block == first);
			mw_fast_free(block);
		}
		CHECK_EQ(lock_takes(), takes);
	}
	CHECK_EQ(samples, freed);
}

/* As many as together have a slice: sizes of which a small heap has few samples, and all of them
 * large ones. */
static void test_several_large_ones_come_again(void) {
	enum { BYTES = 16384, BLOCKS = MW_SLICE_BYTES / BYTES };
	void *blocks[BLOCKS];
	uint64_t takes = 0;
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < BLOCKS; i++)
			blocks[i] = mw_heap_alloc(BYTES);
		for (int i = 0; i < BLOCKS; i++)
			mw_fast_free(blocks[(i + round) % BLOCKS]);
		if (round == 0)
			takes = lock_takes();
	}
	CHECK_EQ(lock_takes(), takes);
}

static void test_kept_places_are_not_live(void) {
	enum { BLOCKS = 5 };
	void *blocks[BLOCKS];
	size_t before = mw_heap_live_bytes();
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = mw_heap_alloc(48);
	CHECK_EQ(mw_heap_live_bytes() - before, BLOCKS * 48);
	CHECK_EQ(mw_heap_usable_bytes(blocks[0]), 48);
	for (int i = 0; i < BLOCKS; i++)
		mw_fast_free(blocks[i]);
	CHECK_EQ(mw_heap_live_bytes(), before);
	CHECK_EQ(mw_sampled_record(mw_page_of_slice((uintptr_t)blocks[0]), blocks[0]), 0);
	/* A place may hold another class next time. */
	void *block = mw_heap_alloc(64);
	CHECK_EQ(mw_heap_live_bytes() - before, 64);
	mw_fast_free(block);
	CHECK_EQ(mw_heap_live_bytes(), before);
}

static uint64_t walked_blocks, walked_bytes, mapped_blocks, class_blocks[MW_CLASS_COUNT];

static void see_range(uintptr_t start, uintptr_t limit, unsigned kind) {
	(void)start, (void)limit, (void)kind;
}
static void see_class(const mw_heap_walk_class_t *class) {
	if (class->block_bytes == 0)
		return;
	class_blocks[mw_class_of(class->block_bytes)] = class->live_blocks;
	walked_blocks += class->live_blocks;
	walked_bytes += class->used_bytes;
}
static void see_chunk(const mw_state_chunk_t *map) {
	for (unsigned i = 0; i < MW_STATE_SLICES; i++)
		mapped_blocks += map->slices[i].used_blocks;
}

static void walk(void) {
	static const mw_heap_walk_sink_t sink = {
		.range = see_range, .size_class = see_class, .chunk = see_chunk};
	walked_blocks = walked_bytes = mapped_blocks = 0;
	mw_heap_walk(&sink);
}

/* Blocks of several classes side by side, some of them free: in pages of small slots, of many
 * marks, and of large ones, whose marks lie with the page's record. */
static void test_live_blocks_are_counted_by_class(void) {
	enum { BLOCKS = 3000 };
	static const size_t sizes[] = {16, 16, 16, 48, 64, 200, 1000, 3000, 20000};
	static void *blocks[BLOCKS];
	uint64_t live[MW_CLASS_COUNT] = {0}, before[MW_CLASS_COUNT];
	walk();
	memcpy(before, class_blocks, sizeof before);
	uint64_t blocks_before = walked_blocks, bytes_before = walked_bytes, bytes = 0, count = 0;
	CHECK_EQ(mapped_blocks, walked_blocks);
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = mw_heap_alloc(sizes[i * 7 / 3 % (sizeof sizes / sizeof *sizes)]);
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (i % 5 == 3) {
			mw_fast_free(blocks[i]);
			blocks[i] = NULL;
			continue;
		}
		size_t size = sizes[i * 7 / 3 % (sizeof sizes / sizeof *sizes)];
		live[mw_class_of(size)]++;
		bytes += mw_class_bytes[mw_class_of(size)];
		count++;
	}
	walk();
	CHECK_EQ(walked_blocks - blocks_before, count);
	CHECK_EQ(walked_bytes - bytes_before, bytes);
	CHECK_EQ(mapped_blocks, walked_blocks);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		CHECK_EQ(class_blocks[c] - before[c], live[c]);
	for (unsigned i = 0; i < BLOCKS; i++)
		mw_fast_free(blocks[i]);
	walk();
	CHECK_EQ(walked_blocks, blocks_before);
	CHECK_EQ(mapped_blocks, blocks_before);
}

static void *use_and_end(void *place) {
	void **block = place;
	*block = mw_heap_alloc(3000);
	mw_fast_free(*block);
	mw_heap_thread_end();
	return NULL;
}

static void test_a_thread_leaves_its_places(void) {
	void *theirs;
	pthread_t thread;
	mw_slot_cache_unload(mw_heap_self());
	CHECK_EQ(pthread_create(&thread, NULL, use_and_end, &theirs), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	void *block = mw_heap_alloc(3000);
	CHECK(block == theirs);
	mw_fast_free(block);
}

enum { HANDED_OVER = 300 };
static void *handed_over[HANDED_OVER];

static void *free_all(void *unused) {
	for (int i = 0; i < HANDED_OVER; i++)
		mw_fast_free(handed_over[i]);
	mw_heap_thread_end();
	return unused;
}

/* Whoever frees what others make does not keep it from them. */
static void test_places_freed_by_another_thread_come_back(void) {
	size_t in_use_bytes = 0;
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < HANDED_OVER; i++)
			handed_over[i] = mw_heap_alloc(500);
		pthread_t thread;
		CHECK_EQ(pthread_create(&thread, NULL, free_all, NULL), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		if (round == 0)
			in_use_bytes = mw_chunk_in_use_bytes();
	}
	CHECK_EQ(mw_chunk_in_use_bytes(), in_use_bytes);
	CHECK_EQ(samples, freed);
}

/* The same while that thread goes on: all but a slot_cache of them. */
static void test_a_full_slot_cache_goes_on(void) {
	enum { BLOCKS = 200 };
	void *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = mw_heap_alloc(200);
	uint64_t takes = lock_takes();
	for (int i = 0; i < BLOCKS; i++)
		mw_fast_free(blocks[i]);
	/* Some at a time. */
	CHECK(lock_takes() - takes <= BLOCKS / 4 + 1);
	CHECK(lock_takes() - takes >= (BLOCKS - MW_SLOT_CACHE_SLOTS) / MW_SLOT_CACHE_SLOTS);
	CHECK_EQ(samples, freed);
}

enum { MANY = 5000, MANY_BYTES = 240, FEW_BYTES = 1500 };

/* Returns how many of many samples at a time lie in memory that still holds earlier ones. */
static size_t make_many(void) {
	static unsigned char *blocks[MANY];
	size_t used_before = 0;
	for (int i = 0; i < MANY; i++) {
		blocks[i] = mw_heap_alloc(MANY_BYTES);
		used_before += blocks[i][MANY_BYTES - 1] == 0xaa;
		memset(blocks[i], 0xaa, MANY_BYTES);
	}
	for (int i = 0; i < MANY; i++)
		mw_fast_free(blocks[i]);
	mw_slot_cache_unload(mw_heap_self());
	return used_before;
}

/* Where samples fill pages, memory of an earlier use is used again.  A page for a few samples gives
 * the rest of it to the kernel. */
static void test_memory_of_full_pages_is_kept(void) {
	mw_chunk_set_decay(UINT64_C(3600000000000), false);
	make_many();
	CHECK(make_many() > MANY / 2);
	unsigned char *block = mw_heap_alloc(FEW_BYTES);
	const mw_page_t *page = mw_page_of_slice((uintptr_t)block);
	CHECK(page->kind == MW_PAGE_SAMPLED && !page->zeroed && page->used == 1);
	const unsigned char *last = (const unsigned char *)page->start + 20 * page->block_bytes;
	for (size_t i = 0; i < page->block_bytes; i++)
		CHECK_EQ(last[i], 0);
	mw_fast_free(block);
}

int main(void) {
	if (MW_HARDEN_ON) /* it has none */
		return 0;
	mw_heap_set_hooks(&hooks);
	RUN(test_memory_of_full_pages_is_kept); /* first: no class has pages */
	RUN(test_what_was_freed_comes_again);
	RUN(test_several_large_ones_come_again);
	RUN(test_kept_places_are_not_live);
	RUN(test_live_blocks_are_counted_by_class);
	RUN(test_a_thread_leaves_its_places);
	RUN(test_places_freed_by_another_thread_come_back);
	RUN(test_a_full_slot_cache_goes_on);
	return 0;
}
