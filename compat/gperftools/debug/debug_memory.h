/* SPDX-License-Identifier: MIT
 * debug_memory.h -- the memory of a block: guards before and behind it, the fill of a freed one,
 * and the page fence.  No lock is held by the callers. */
#ifndef MW_COMPAT_GPERFTOOLS_DEBUG_MEMORY_H
#define MW_COMPAT_GPERFTOOLS_DEBUG_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "compat/gperftools/debug/debug_blocks.h"

/* Takes memory for block->bytes of block->kind, and writes start, memory, mapped_bytes and guards.
 * With TCMALLOC_PAGE_FENCE the block ends at a page that cannot be written.  `align`: 0 or a power
 * of two.  false: no memory; for the kinds of operator new, std::bad_alloc is thrown instead. */
bool mw_gpd_memory_take(mw_gpd_block_t *block, size_t align);
/* Returns the first byte of the guards that was changed; NULL: none. */
const char *mw_gpd_memory_damage(const mw_gpd_block_t *block);
/* Fills a freed block, or forbids all access to one with a page fence, and writes is_closed. If the
 * kernel refuses (too many mappings), a block with a page fence is filled as others are. */
void mw_gpd_memory_close(mw_gpd_block_t *block);
/* Returns the first byte of a closed block that was written; NULL: none. */
const char *mw_gpd_memory_written(const mw_gpd_block_t *block);
/* Gives the memory of a closed block back. */
void mw_gpd_memory_give(const mw_gpd_block_t *block);

#endif
