/* SPDX-License-Identifier: MIT
 * ownership.h -- pages that a heap gets, gives up and returns.
 * Layer: heap.  Called by the thread that owns the page, or that just took it. */
#ifndef MW_HEAP_REMOTE_OWNERSHIP_H
#define MW_HEAP_REMOTE_OWNERSHIP_H

#include "heap/layout/page.h"

/* Takes slices for pages; NULL: no memory.  *reserved: whether the heap had the slice, so that no
 * more memory is in use than before. */
mw_page_t *mw_heap_take_slices(mw_heap_t *heap, unsigned slices, bool *reserved);
/* Returns the slices that the heap has for its next pages. */
void mw_heap_give_reserved(mw_heap_t *heap);
/* Makes the heap the owner of a page that another thread or no thread owned.  The caller queues the
 * page.  Blocks of the page that other threads freed meanwhile count as freed by this thread. */
void mw_heap_page_own(mw_heap_t *heap, mw_page_t *page);
/* Takes a full page out of its queue and gives it up: the next thread that frees into it takes it.
 * False: a block came back meanwhile, and the page is at the front of its queue. */
bool mw_heap_page_abandon_full(mw_heap_t *heap, mw_page_t *page);
/* The calling thread took a full page, with a list of `count` blocks of it: the page goes into the
 * queue of its class, or back to its chunk if all of its blocks are free. */
void mw_heap_page_reclaim(mw_heap_t *heap, mw_page_t *page, void *list, uint32_t count);
/* Puts a block of the heap's own page into the page's free list. */
void mw_heap_page_put(mw_page_t *page, void *block);
/* Called when the page's last block came back to its owner: the heap keeps the page or releases it.
 */
void mw_heap_page_emptied(mw_page_t *page);
/* Returns a page to its chunk; no block of the page is in use. */
void mw_heap_page_release(mw_heap_t *heap, mw_page_t *page);

#endif
