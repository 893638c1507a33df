/* SPDX-License-Identifier: MIT
 * outbox.h -- blocks of other threads' pages on their way home, in batches a page.
 * Layer: heap.  Owner thread only.
 *
 * A push onto a page's inbox is a compare-and-swap on a cache line that the owner reads too; a few
 * blocks that go to the same page share one.  What waits here is bounded by MW_OUTBOX_PLACES
 * batches, and goes out when the thread needs memory itself, trims, or ends. */
#ifndef MW_HEAP_OUTBOX_H
#define MW_HEAP_OUTBOX_H

#include "heap/heap.h"

/* The calling thread frees `block` of a page it does not own.  Ends the program when it is the
 * block it freed last.  `heap` may be NULL: the block goes at once. */
void mw_outbox_add(mw_heap_t *heap, mw_page_t *page, void *block);
void mw_outbox_flush(mw_heap_t *heap);

/* Waits until no thread holds all blocks of another's page; between the two none begins to. */
void mw_outbox_fork_prepare(void);
void mw_outbox_fork_release(void);

#endif
