/* SPDX-License-Identifier: MIT
 * huge.h -- blocks with a mapping of their own, and a cache of mappings freed a moment ago.
 * Layer: heap.  One lock (MW_RANK_HUGE).  Blocks start at a page boundary.  A hash table, not a
 * header, holds their sizes, so that mremap(2) and alignment need no special case.
 *
 * Door of heap/large.  Reading order: huge, huge_table (blocks by address), range_cache (freed
 * mappings kept for reuse).  Large blocks, which are slices of a chunk, are made in
 * heap/core/alloc.c.  Uses heap/arena and the folders below it. */
#ifndef MW_HEAP_HUGE_H
#define MW_HEAP_HUGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/large/huge_table.h"
#include "heap/layout/page.h"
#include "heap/layout/record.h"
#include "os/lock/lock.h"

/* Allocates a huge block; NULL: no memory.  `arena`: one that the program made, or NULL.
 * *usable_bytes: bytes that the block holds; *zeroed: it reads as zero. */
void *mw_huge_alloc(mw_arena_t *arena, size_t bytes, size_t align, size_t *usable_bytes,
		    bool *zeroed);
void mw_huge_set_record(void *block, mw_record_id_t record);
/* Frees the block and returns what it was.  Ends the program when `block` is not a live huge block.
 */
mw_huge_block_t mw_huge_free(void *block);
/* Returns the bytes that the block holds.  Ends the program when it is not a live huge block. */
size_t mw_huge_bytes(const char *function, const void *block);
/* Returns the number of the block's arena.  Ends the program when it is not a live huge block. */
uint32_t mw_huge_arena(const void *block);
/* Finds a live block by its start; false: there is none. */
bool mw_huge_find(const void *address, mw_huge_block_t *block);
/* Finds the first of the arena's blocks that starts above `after`; false: there is none. */
bool mw_huge_next_of_arena(uint32_t arena, uintptr_t after, mw_huge_block_t *block);
/* Takes one of the arena's blocks out of the table; the caller owns its memory then.  False: there
 * is none. */
bool mw_huge_take_of_arena(uint32_t arena, mw_huge_block_t *block);
/* Resizes the block by mremap(2).  NULL: the kernel refused, and the block is unchanged.  *record:
 * the block's record, which the block does not have any more. */
void *mw_huge_resize(void *block, size_t bytes, size_t *usable_bytes, mw_record_id_t *record);
/* Set and tell how long freed huge blocks are kept: the contracts of the functions for slices in
 * heap/memory/chunk.h. */
void mw_huge_set_decay(uint64_t delay_ns, bool early);
void mw_huge_set_keep_min_bytes(size_t bytes);
uint64_t mw_huge_next_purge_ns(void);

typedef struct mw_huge_stats {
	size_t blocks, live_bytes, cached_bytes;
	size_t most_blocks, most_bytes; /* most that were live at once */
} mw_huge_stats_t;
MW_COLD void mw_huge_stats(mw_huge_stats_t *stats);
/* Visits each live block and kept mapping, under the lock; kind: MW_RANGE_HUGE or _CACHED. */
MW_COLD void mw_huge_visit(void (*visit)(uintptr_t start, uintptr_t limit, unsigned kind));

mw_lock_t *mw_huge_lock(void);
void mw_huge_fork_prepare(void);
void mw_huge_fork_release(bool in_child);

#endif
