/* SPDX-License-Identifier: MIT
 * heap_page.h -- pages of a heap: making them, emptying their inboxes, moving them between lists.
 * Layer: heap.  Called by the owning thread only. */
#ifndef MW_HEAP_HEAP_PAGE_H
#define MW_HEAP_HEAP_PAGE_H

#include "heap/heap.h"

/* A page of the class with free blocks or room to carve, at the front of its queue: pending,
 * queued, adopted or new.  NULL: no memory. */
mw_page_t *mw_heap_page_find(mw_heap_t *heap, unsigned size_class);
/* All free blocks of the page, which count as used from now on; carves when there are none.
 * Returns their number. */
uint32_t mw_heap_page_detach(mw_page_t *page, void **list);
/* Moves the inbox to the free list. */
void mw_heap_page_collect(mw_page_t *page);
/* A full page got a block back: into its queue again. */
void mw_heap_page_unfull(mw_heap_t *heap, mw_page_t *page);
/* Takes the pages whose inboxes got something out of the pending list. */
void mw_heap_take_pending(mw_heap_t *heap);
/* Gives the page's slices back if nothing refers to it; false: it stays where it is. */
bool mw_heap_page_release(mw_heap_t *heap, mw_page_t *page);
/* The owner word that lets free() take the fast path, or DIVERT for medium pages. */
void mw_heap_page_claim(mw_heap_t *heap, mw_page_t *page);
/* Puts what is left of the thread's list head back to its page; counts stay right. */
void mw_heap_head_flush(mw_heap_t *heap, unsigned size_class);

#endif
