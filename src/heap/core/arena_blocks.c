/* SPDX-License-Identifier: MIT
 * arena_blocks.c -- allocates small blocks of an arena; fills and empties the lists of them that a
 * thread keeps; frees all blocks of an arena at once. */
#include "heap/core/arena_blocks.h"

#include <string.h>

#include "heap/arena/arena.h"
#include "heap/arena/extent.h"
#include "heap/core/free.h"
#include "heap/large/huge.h"
#include "heap/large/huge_table.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/record.h"
#include "heap/layout/size_class.h"
#include "heap/layout/slabs.h"
#include "heap/local/counts.h"
#include "heap/local/heap.h"
#include "heap/misuse/misuse.h"
#include "heap/sample/sampled.h"
#include "heap/sample/sampled_mark.h"
#include "heap/sample/sampling.h"
#include "heap/sample/slot_cache.h"
#include "heap/thread/thread.h"

/* Longest list.  Blocks in a list are not free for other threads. */
#define LIST_BLOCKS_MAX 64u
#define LIST_BYTES_MAX 16384u

static uint32_t length_for(size_t block_bytes) {
	size_t blocks = LIST_BYTES_MAX / block_bytes;
	return blocks < LIST_BLOCKS_MAX ? (uint32_t)blocks : LIST_BLOCKS_MAX;
}

void mw_arena_lists_drop(mw_arena_lists_t *lists) {
	memset(lists->until_sample, 0, sizeof lists->until_sample); /* draws need no memory */
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++)
		lists->lists[c] = (mw_list_t){.room = (int32_t)length_for(mw_class_bytes[c])};
}

void mw_arena_lists_start(mw_arena_lists_t *lists, mw_arena_t *arena) {
	lists->owner = (uintptr_t)__builtin_thread_pointer();
	lists->arena = arena;
	mw_arena_lists_drop(lists);
	if (!MW_HARDEN_ON)
		arena->lists = lists;
}

/* Takes up to `most` blocks of the arena's page that has room, as a list.  Returns their number. */
static uint32_t take_list(mw_arena_t *arena, unsigned size_class, uint32_t most, void **list) {
	mw_slabs_t *slabs = &arena->slabs[size_class];
	uint32_t count = 0, *mark;
	void *first = NULL, *last = NULL;
	mw_lock_acquire_often(&slabs->lock, MW_RANK_SAMPLED);
	mw_page_t *page = slabs->with_room.first;
	uint32_t room = page ? page->capacity - page->used : 0;
	for (uint32_t blocks = most < room ? most : room; count < blocks; count++) {
		void *block = mw_sampled_take_from(page, size_class, &mark);
		if (last)
			mw_link_set(last, block);
		else
			first = block;
		last = block;
	}
	if (count > 0)
		mw_sampled_count_taken(slabs, page, count);
	mw_lock_release_often(&slabs->lock, MW_RANK_SAMPLED);
	if (last)
		mw_link_set(last, NULL);
	*list = first;
	return count;
}

/* Applies a changed rate: draws by the old rate are dropped. */
static void poll(mw_arena_lists_t *lists, mw_heap_t *heap) {
	mw_sampling_poll(heap);
	uint32_t number = mw_sampling_draw_generation(heap);
	if (MW_LIKELY(lists->draw_generation == number))
		return;
	memset(lists->until_sample, 0, sizeof lists->until_sample);
	lists->draw_generation = number;
}

/* How many objects may pass before the next sample. */
static uint64_t may_pass(mw_arena_lists_t *lists, mw_heap_t *heap, unsigned size_class) {
	uint64_t *until = &lists->until_sample[size_class];
	if (*until == 0)
		*until = mw_sampling_draw_listed(heap, size_class);
	return *until - 1;
}

static void pass(mw_arena_lists_t *lists, unsigned size_class, uint32_t objects) {
	if (lists->until_sample[size_class] != UINT64_MAX)
		lists->until_sample[size_class] -= objects;
}

static void fill(mw_arena_lists_t *lists, mw_heap_t *heap, unsigned size_class) {
	mw_list_t *list = &lists->lists[size_class];
	uint64_t most = may_pass(lists, heap, size_class);
	if (most > (uint32_t)list->room)
		most = (uint32_t)list->room;
	uint32_t count = take_list(lists->arena, size_class, (uint32_t)most, &list->first);
	list->room -= (int32_t)count;
	pass(lists, size_class, count);
	heap->counts.large_bytes += (uint64_t)count * mw_class_bytes[size_class];
}

void *mw_arena_lists_alloc(mw_arena_lists_t *lists, size_t bytes) {
	mw_heap_t *heap = mw_heap_self();
	if (MW_HARDEN_ON || bytes > MW_TINY_MAX_BYTES || !heap || heap->tcache_off ||
	    mw_extent_in_hook)
		return NULL;
	unsigned size_class = mw_class_of_tiny[bytes];
	poll(lists, heap);
	uint32_t *mark;
	void *block = mw_sampled_take(lists->arena, size_class, &mark);
	if (!block)
		return NULL;
	size_t block_bytes = mw_class_bytes[size_class];
	heap->counts.large_bytes += block_bytes;
	if (may_pass(lists, heap, size_class) == 0) {
		lists->until_sample[size_class] = 0;
		mw_heap_counts_show(heap);
		mw_sampled_bind(mark, mw_sampling_take_listed(heap, block, bytes, block_bytes));
		return block;
	}
	pass(lists, size_class, 1);
	fill(lists, heap, size_class);
	mw_heap_counts_show(heap);
	return block;
}

/* The next sample is as many objects away as if the block had never been in its list. */
static void unpass(mw_arena_lists_t *lists, unsigned size_class) {
	uint64_t *until = &lists->until_sample[size_class];
	*until += *until != 0 && *until != UINT64_MAX;
}

void mw_arena_lists_flush(mw_arena_lists_t *lists) {
	uintptr_t owner = lists->owner;
	lists->owner = 0; /* no block comes back */
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++) {
		void *block;
		while ((block = lists->lists[c].first) != NULL) {
			lists->lists[c].first = mw_link_get(block);
			lists->lists[c].room++;
			unpass(lists, c);
			mw_heap_free_slow(block);
		}
	}
	lists->owner = owner;
}

/* Returns the class of a live block of the page that has no record.  MW_CLASS_COUNT: the block is
 * another one. */
static unsigned plain_class(const mw_page_t *page, const void *block) {
	uint32_t offset = (uint32_t)((const char *)block - page->start);
	uint32_t index = mw_class_index(page->size_class, offset);
	/* Relaxed: a thread that has a block's address knows that the block was carved. */
	if (!mw_class_divides(page->size_class, offset) ||
	    index >= __atomic_load_n(&page->carved, __ATOMIC_RELAXED))
		return MW_CLASS_COUNT;
	uint32_t mark = *mw_mark_at(page, index);
	return mark & (MW_MARK_FREE | MW_SAMPLED_NUMBER_MASK) ? MW_CLASS_COUNT
							      : mark >> MW_SAMPLED_CLASS_SHIFT;
}

bool mw_arena_lists_give(mw_page_t *page, void *block) {
	mw_arena_lists_t *lists = mw_chunk_of(page)->arena->lists;
	mw_heap_t *heap = mw_thread.heap;
	if (!lists || !mw_arena_lists_are_own(lists) || !heap)
		return false;
	unsigned size_class = plain_class(page, block);
	if (size_class >= MW_TINY_CLASSES)
		return false;
	mw_list_t *list = &lists->lists[size_class];
	if (list->first == block)
		mw_misuse_free_again(page, block);
	/* A loop that allocates the blocks that it freed last notices requests of tools here. */
	poll(lists, heap);
	if (list->room <= 0 || mw_heap_fill_freed >= 0 || may_pass(lists, heap, size_class) == 0)
		return false;
	pass(lists, size_class, 1);
	list->room--;
	mw_link_set(block, list->first);
	list->first = block;
	return true;
}

MW_NOINLINE void *mw_arena_block_alloc(mw_heap_t *heap, mw_arena_t *arena, size_t bytes,
				       unsigned size_class) {
	uint32_t *mark;
	void *block = mw_sampled_take(arena, size_class, &mark);
	if (!block)
		return NULL;
	size_t usable_bytes = mw_class_bytes[size_class];
	heap->counts.large_bytes += usable_bytes;
	mw_heap_counts_show(heap);
	mw_sampled_bind(mark, mw_sampling_count_bytes(heap, block, bytes, usable_bytes));
	return block;
}

/* ---- the end of all blocks ---- */

static void drop_record(mw_record_id_t record) {
	mw_sampling_freed(record);
}

static void drop_page(mw_arena_t *arena, mw_page_t *page) {
	if (page->kind == MW_PAGE_SAMPLED) {
		mw_sampled_visit_records(page, drop_record);
	} else {
		if (page->large_record)
			drop_record(page->large_record);
		mw_arena_count_large(arena, page->large_bytes, false);
	}
	mw_arena_give(page, MW_PAGE_NONE);
}

void mw_arena_reset(mw_arena_t *arena) {
	if (arena->lists)
		mw_arena_lists_drop(arena->lists);
	for (mw_chunk_t *chunk = arena->chunks; chunk; chunk = chunk->all_next) {
		for (unsigned i = 1; i < MW_CHUNK_SLICES; i++) {
			mw_page_t *page = mw_chunk_page(chunk, i);
			if (page->kind == MW_PAGE_SAMPLED || page->kind == MW_PAGE_LARGE)
				drop_page(arena, page);
		}
	}
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_slabs_t *slabs = &arena->slabs[c];
		slabs->with_room = (mw_page_queue_t){0};
		slabs->given = slabs->taken;
	}
	mw_huge_block_t block;
	while (mw_huge_take_of_arena(arena->number, &block)) {
		if (block.record)
			drop_record(block.record);
		mw_arena_count_large(arena, block.bytes, false);
		mw_arena_unmap(arena->number, (void *)block.base, block.bytes);
	}
}

bool mw_arena_destroy(mw_arena_t *arena) {
	if (atomic_load_explicit(&arena->threads, memory_order_relaxed) > 0)
		return false;
	mw_arena_reset(arena);
	mw_arena_remove(arena);
	return true;
}

/* Slices of the class's pages without a block.  A page that a thread is about to give back has left
 * the queue and is not counted. */
static unsigned idle_slices(mw_slabs_t *slabs) {
	unsigned slices = 0;
	mw_lock_acquire(&slabs->lock, MW_RANK_SAMPLED);
	for (const mw_page_t *page = slabs->with_room.first; page; page = page->next)
		if (page->used == 0)
			slices += page->slice_count;
	mw_lock_release(&slabs->lock, MW_RANK_SAMPLED);
	return slices;
}

bool mw_arena_is_empty(mw_arena_t *arena) {
	unsigned slices = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		slices += idle_slices(&arena->slabs[c]);
	/* Relaxed: a thread that takes slices out of use has done with the arena's lists. */
	return atomic_load_explicit(&arena->slices_in_use, memory_order_relaxed) == slices &&
	       atomic_load_explicit(&arena->huge_bytes, memory_order_relaxed) == 0;
}
