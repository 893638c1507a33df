/* SPDX-License-Identifier: MIT
 * arena_end.c -- frees all blocks of an arena at once. */
#include "heap/core/arena_end.h"

#include "heap/arena/arena.h"
#include "heap/core/arena_lists.h"
#include "heap/large/huge.h"
#include "heap/large/huge_table.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/record.h"
#include "heap/layout/size_class.h"
#include "heap/layout/slabs.h"
#include "heap/sample/sampled.h"
#include "heap/sample/sampling.h"

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
