/* SPDX-License-Identifier: MIT
 * heap_page.h -- pages of a heap: making them, collecting their delayed lists, moving them between
 * queues.
 * Layer: heap.  Called by the owning thread only. */
#ifndef MW_HEAP_HEAP_PAGE_H
#define MW_HEAP_HEAP_PAGE_H

#include "heap/core/heap.h"

/* A page of the class with free blocks or room to carve, at the front of its queue: queued before,
 * abandoned by another thread, or new.  NULL: no memory. */
mw_page_t *mw_heap_page_find(mw_heap_t *heap, unsigned size_class);
/* A shorter list is made longer by carving, in the first part of a page of tiny blocks: a loop that
 * allocates and frees a block or two would refill at each turn. */
#define MW_LIST_BLOCKS 8u
#define MW_LIST_BYTES (16u << 10)
/* What mw_heap_page_find() found gets a free list, from the delayed list or by carving.  Returns
 * how many blocks at its front are new. */
uint32_t mw_heap_page_prepare(mw_heap_t *heap, mw_page_t *page);
/* Ends *list, a list of the page's blocks, after `keep` of them; returns the others. */
void *mw_heap_page_cut(const mw_page_t *page, void **list, uint32_t keep);
/* A list of `count` blocks that counted as used, before those that are free. */
void mw_heap_page_put_back(mw_page_t *page, void *list, uint32_t count);
/* Ends the program: the page's list leads where it cannot. */
_Noreturn void mw_heap_page_corrupt(const mw_page_t *page);
/* Moves the thread-delayed free list to the free list. */
void mw_heap_page_collect(mw_page_t *page);
/* A block of the heap's own page is free again. */
void mw_heap_page_put(mw_page_t *page, void *block);
/* Has the page a free block, or room to carve one?  Without the delayed list. */
bool mw_heap_page_has_room(const mw_page_t *page);
/* The calling thread took the page, which was full, with `count` blocks of it, a list: the page
 * goes into the queue of its class, or away if all of its blocks are free. */
void mw_heap_page_reclaim(mw_heap_t *heap, mw_page_t *page, void *list, uint32_t count);
/* Gives away a page of which no block is out. */
void mw_heap_page_release(mw_heap_t *heap, mw_page_t *page);
/* From now on the page is one of this heap's, no longer of the one that had it last.  heap == NULL:
 * of none. */
void mw_heap_count_page(mw_heap_t *heap, mw_page_t *page);
/* The owner word that lets free() take the fast path. */
void mw_heap_page_claim(mw_heap_t *heap, mw_page_t *page);
/* Of all pages of a heap that the calling thread is about to get. */
void mw_heap_pages_claim(mw_heap_t *heap);
/* Pages of this class and those above are their thread's for no fast path any longer. */
void mw_heap_pages_divert(mw_heap_t *heap, unsigned from_class);
/* Blocks in the thread's list head; ends the program when the list has no end. */
uint32_t mw_heap_head_count(unsigned size_class);
/* Puts what is left of the thread's list head back to its page; counts stay right. */
void mw_heap_head_flush(mw_heap_t *heap, unsigned size_class);

/* Gives back each page of the calling thread's heap that has no block (thread.c). */
void mw_heap_release_pages(mw_heap_t *heap);

#endif
