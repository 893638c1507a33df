/* SPDX-License-Identifier: MIT
 * inbox.h -- blocks go home to a page that the caller does not own.
 * Layer: heap.  Any thread, with or without a heap. */
#ifndef MW_HEAP_INBOX_H
#define MW_HEAP_INBOX_H

#include "heap/heap.h"

/* Pages that a heap was told of and has not looked at, from which on its thread is taken to sleep:
 * a mebibyte at first.  A thread that works looks sooner.  One that comes back within a second to
 * pages that were purged only waited for a processor: the bound doubles, up to four mebibytes. */
#define MW_BACKLOG_LEAST 16u
#define MW_BACKLOG_MOST 64u
#define MW_BACKLOG_NAP_NS UINT64_C(1000000000)

/* A list of `count` blocks of the page into its inbox (heap/remote.h).  Its heap is told if it does
 * not look at the page by itself; a page without a thread goes away with its last block; the
 * memory of a page whose owner sleeps is purged.  Afterwards the page may be anybody's. */
void mw_inbox_send(mw_page_t *page, void *first, void *last, uint32_t count);
/* One block.  Ends the program when it is the last one that came. */
void mw_inbox_send_one(mw_page_t *page, void *block);

/* The owner looks at its pages after others purged some.  Owner thread only. */
MW_NOINLINE void mw_inbox_came_back(mw_heap_t *heap);

/* Waits until no thread holds all blocks of another's page; between the two none begins to. */
void mw_inbox_fork_prepare(void);
void mw_inbox_fork_release(void);

#endif
