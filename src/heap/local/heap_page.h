/* SPDX-License-Identifier: MIT
 * heap_page.h -- the lists of one page, and the heap that the page belongs to.
 * Layer: heap.  Called by the page's owner only. */
#ifndef MW_HEAP_HEAP_PAGE_H
#define MW_HEAP_HEAP_PAGE_H

#include "heap/layout/page.h"
#include "heap/local/heap.h"

/* A refill makes a shorter list longer by carving, in the first part of a page of tiny blocks: a
 * loop that allocates and frees a block or two would otherwise refill at each turn. */
#define MW_LIST_BLOCKS 8u
#define MW_LIST_BYTES (16u << 10)
/* Gives a page with free blocks or room a free list, from the delayed list or by carving.  Returns
 * how many blocks at the front of the list are new. */
uint32_t mw_heap_page_prepare(mw_heap_t *heap, mw_page_t *page);
/* Ends *list, a list of the page's blocks, after `keep` blocks; returns the others. */
void *mw_heap_page_cut(const mw_page_t *page, void **list, uint32_t keep);
/* Puts a list of `count` blocks, which counted as used, before the page's free blocks. */
void mw_heap_page_put_back(mw_page_t *page, void *list, uint32_t count);
/* Moves the thread-delayed free list to the free list. */
void mw_heap_page_collect(mw_page_t *page);
/* Returns whether the page has a free block or room to carve one; ignores the delayed list. */
bool mw_heap_page_has_room(const mw_page_t *page);
/* Ends the program: a list of the page leads out of it, or has the wrong length. */
_Noreturn void mw_heap_page_corrupt(const mw_page_t *page);

/* Pages of the heap, and full pages that the heap had last. */
static inline uint32_t mw_heap_pages(const mw_heap_t *heap) {
	return atomic_load_explicit(&((mw_heap_t *)(uintptr_t)heap)->pages, memory_order_relaxed);
}
/* From now on the page counts as a page of this heap, no longer of the heap that had it last.
 * heap == NULL: of no heap. */
void mw_heap_count_page(mw_heap_t *heap, mw_page_t *page);
/* Writes the owner word that lets free() of the calling thread take the fast path. */
void mw_heap_page_claim(mw_heap_t *heap, mw_page_t *page);
/* Writes the owner words of all pages of a heap that the calling thread is about to get. */
void mw_heap_pages_claim(mw_heap_t *heap);
/* free() takes the slow path for all pages of this class and the classes above. */
void mw_heap_pages_divert(mw_heap_t *heap, unsigned from_class);

#endif
