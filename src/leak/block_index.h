/* SPDX-License-Identifier: MIT
 * block_index.h -- every block of the heap, found by any address in it, with some bits for each.
 * Layer: leak. In a copy of the process, which has one thread: no locks. Memory is taken from the
 * kernel and never given back, as the copy ends. */
#ifndef MW_LEAK_BLOCK_INDEX_H
#define MW_LEAK_BLOCK_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/layout/page.h"

typedef struct mw_leak_block {
	uintptr_t start;
	size_t bytes; /* usable */
	uint64_t bit; /* number of the block's bit in each of the maps */
} mw_leak_block_t;

/* The maps of the index: each has one bit for each block. */
typedef enum mw_leak_map {
	MW_LEAK_LIVE,    /* handed out, not freed */
	MW_LEAK_REACHED, /* reachable from a root */
	MW_LEAK_OWNED,  /* not reachable from a root, and visited by a search among leaked blocks */
	MW_LEAK_DIRECT, /* leaked, and not reachable from another leaked block */
	MW_LEAK_MAPS
} mw_leak_map_t;

/* Builds the index; all blocks that were ever handed out are live at first, save those that their
 * page or slot says to be free. Returns false if the kernel refused memory. */
bool mw_leak_index_build(void);
/* Returns the addresses among which all blocks lie: from *start on, fewer than *bytes behind it. */
void mw_leak_index_span(uintptr_t *start, uintptr_t *bytes);
/* Finds the block that holds the address; false: none does. Any value is allowed. */
bool mw_leak_index_find(uintptr_t address, mw_leak_block_t *block);
bool mw_leak_bit(mw_leak_map_t map, uint64_t bit);
void mw_leak_bit_set(mw_leak_map_t map, uint64_t bit);
void mw_leak_bit_clear(mw_leak_map_t map, uint64_t bit);
/* Visits live blocks, in no order: those that are REACHED, or those that are not. */
void mw_leak_index_visit(bool reached, void (*visit)(const mw_leak_block_t *block));
/* Counts all live blocks: calls `count` with the number of some blocks of equal usable size. */
void mw_leak_index_count(void (*count)(size_t block_bytes, uint64_t blocks));
/* Clears the map's bits of all blocks. */
void mw_leak_map_clear(mw_leak_map_t map);
/* Visits all pages of the heap that hold blocks. */
void mw_leak_index_visit_pages(void (*visit)(const mw_page_t *page));
/* Returns whether the page's owner was stopped while it changed lists and holes: which blocks are
 * live is not known. All of the page's blocks are LIVE then, and are to be REACHED. */
static inline bool mw_leak_is_between(const mw_page_t *page) {
	return page->kind == MW_PAGE_SMALL && page->is_between;
}
/* Returns the end of the heap's memory (blocks, free memory, metadata) that holds the address; 0:
 * the address is not the heap's. Sets *next to the start of the next such memory above it. */
uintptr_t mw_leak_heap_memory(uintptr_t address, uintptr_t *next);

#endif
