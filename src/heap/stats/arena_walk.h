/* SPDX-License-Identifier: MIT
 * arena_walk.h -- visits the live blocks of an arena.
 * Layer: heap.  No lock is held: the visitor may allocate, and free the block that it gets.  No
 * other thread uses the arena. */
#ifndef MW_HEAP_ARENA_WALK_H
#define MW_HEAP_ARENA_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "heap/layout/page.h"

/* Blocks of one size that lie together. */
typedef struct mw_arena_area {
	const void *start;
	size_t reserved_bytes, touched_bytes, block_bytes, live_blocks;
} mw_arena_area_t;
/* Called for each area of the arena with `block` NULL, and then, if `blocks`, for each live block
 * in it.  False ends the walk, which returns false then. */
typedef bool mw_arena_visit_t(const mw_arena_area_t *area, void *block, size_t bytes,
			      void *context);
bool mw_arena_walk(const mw_arena_t *arena, bool blocks, mw_arena_visit_t *visit, void *context);

#endif
