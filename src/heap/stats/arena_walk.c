/* SPDX-License-Identifier: MIT
 * arena_walk.c -- visits the live blocks of an arena. */
#include "heap/stats/arena_walk.h"

#include "heap/arena/arena.h"
#include "heap/large/huge.h"
#include "heap/sample/sampled.h"
#include "heap/sample/sampled_mark.h"

typedef struct walk {
	bool blocks;
	mw_arena_visit_t *visit;
	void *context;
} walk_t;

static bool walk_one(const walk_t *walk, void *block, size_t bytes) {
	mw_arena_area_t area = {.start = block,
				.reserved_bytes = bytes,
				.touched_bytes = bytes,
				.block_bytes = bytes,
				.live_blocks = 1};
	return walk->visit(&area, NULL, bytes, walk->context) &&
	       (!walk->blocks || walk->visit(&area, block, bytes, walk->context));
}

/* The page ends when the function frees its last block. */
static bool walk_slab(const walk_t *walk, mw_page_t *page) {
	mw_arena_area_t area = {.start = page->start,
				.reserved_bytes = (size_t)page->capacity * page->block_bytes,
				.touched_bytes = (size_t)page->carved * page->block_bytes,
				.block_bytes = page->block_bytes,
				.live_blocks = page->used};
	if (!walk->visit(&area, NULL, page->block_bytes, walk->context))
		return false;
	for (uint32_t i = 0; walk->blocks && page->kind == MW_PAGE_SAMPLED && i < page->carved;
	     i++) {
		if (*mw_mark_at(page, i) & MW_MARK_FREE)
			continue;
		char *block = page->start + (size_t)i * page->block_bytes;
		if (!walk->visit(&area, block, page->block_bytes, walk->context))
			return false;
	}
	return true;
}

static bool walk_page(const walk_t *walk, mw_page_t *page) {
	if (page->kind == MW_PAGE_SAMPLED)
		return page->used == 0 || walk_slab(walk, page);
	return page->kind != MW_PAGE_LARGE || walk_one(walk, page->start, page->large_bytes);
}

bool mw_arena_walk(const mw_arena_t *arena, bool blocks, mw_arena_visit_t *visit, void *context) {
	walk_t walk = {blocks, visit, context};
	for (mw_chunk_t *chunk = arena->chunks; chunk; chunk = chunk->all_next)
		for (unsigned i = 1; i < MW_CHUNK_SLICES; i++)
			if (!walk_page(&walk, mw_chunk_page(chunk, i)))
				return false;
	mw_huge_block_t huge = {0};
	while (mw_huge_next_of_arena(arena->number, huge.base, &huge))
		if (!walk_one(&walk, (void *)huge.base, huge.bytes))
			return false;
	return true;
}
