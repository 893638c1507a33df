/* SPDX-License-Identifier: MIT
 * arena_end.h -- frees all blocks of an arena at once.
 * Layer: heap.  The program ensures that no thread uses the arena or its blocks during the call. */
#ifndef MW_HEAP_ARENA_END_H
#define MW_HEAP_ARENA_END_H

#include <stdbool.h>

#include "heap/layout/page.h"

/* Frees all blocks of the arena; the arena keeps its memory. */
void mw_arena_reset(mw_arena_t *arena);
/* Frees all blocks of the arena and gives up its memory and its number.  False: threads are bound
 * to the arena, and nothing was done. */
bool mw_arena_destroy(mw_arena_t *arena);
/* Returns whether no block is live, and no thread is just freeing one.  During the call, threads
 * may free blocks, but may not allocate from the arena. */
bool mw_arena_is_empty(mw_arena_t *arena);

#endif
