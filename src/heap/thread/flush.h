/* SPDX-License-Identifier: MIT
 * flush.h -- returns the blocks of a thread's lists to their pages, and pages without a block to
 * their chunks.
 * Layer: heap.  Owner thread only. */
#ifndef MW_HEAP_THREAD_FLUSH_H
#define MW_HEAP_THREAD_FLUSH_H

#include "heap/layout/page.h"

/* Empties the tcache list of the class: own blocks return to their pages, blocks of other
 * threads' pages are remote frees.  Countdowns and counts stay right. */
void mw_heap_head_flush(mw_heap_t *heap, unsigned size_class);
/* Empties all lists, bins and batches of the heap. */
void mw_heap_flush_lists(mw_heap_t *heap);
/* Empties those of the calling thread's heap, if the thread has one. */
MW_COLD void mw_heap_flush_thread(void);
/* Empties the lists that are a small part of the heap, bins and batches, and returns each page
 * without a block to its chunk.  A class of which the only page was touched little is left as it
 * is. */
void mw_heap_release_unused(mw_heap_t *heap);
/* Collects the delayed lists of all pages and returns each page without a block to its chunk. */
void mw_heap_release_pages(mw_heap_t *heap);

#endif
