/* SPDX-License-Identifier: MIT
 * remote.h -- blocks that a thread frees and that belong to pages of another thread, and pages
 * whose thread ended.
 * Layer: heap.  Door of heap/remote, and its manual.  Reading order: remote,
 * heap/layout/remote_word.h (a page's delayed list), heap/local/batch.h (the fast path), ownership
 * (pages that a heap gets and gives up), abandoned (lists of pages without a thread). Uses
 * heap/local and the folders below it.
 *
 * Bin.  A thread keeps a few blocks that it frees and whose pages it does not own, in a bin of the
 * size class; the thread's next refill of the class takes all of them.  Threads that exchange
 * blocks thus reuse blocks that are in the processor's cache.  A thread that frees more blocks than
 * it allocates fills its bin once, and further blocks do not go through it.  The limit of a bin is
 * that of heap/local/tcache.h.  Blocks below a cache line have no bin: their neighbours in the line
 * may be in use by other threads.
 *
 * Remote free.  A block that no bin takes returns to the page it was carved from.  The freeing
 * thread collects blocks of one page in a batch, a linked list, of its remote-free cache: a small
 * table that a page's address indexes.  When the batch is full, or another page needs its place,
 * one compare-and-swap pushes the list onto the page's thread-delayed free list.  While a page has
 * a batch, its blocks join the batch, not the bin.
 *
 * Drain.  The owner takes a page's delayed list when the page's own free list is used up.
 *
 * Full page.  A page without a free block has no owner: the owner lets go of it as soon as it finds
 * no block there (mw_heap_page_abandon_full()).  The page is in no list.  The first thread that
 * frees one of its blocks takes the page: the push finds the flag ABANDONED and clears it.
 *
 * Reclaim.  That thread keeps the page if the thread's heap had it last: the next frees of the page
 * are ordinary then.  Otherwise the page goes into the class's list of abandoned pages, where it
 * gets further blocks back until a thread needs a page of the class, or until its last block is
 * back and its slice is free again.  A thread that only frees thus leaves pages to those that
 * allocate, and a thread that sleeps forever owns only the pages that had a free block when it fell
 * asleep.
 *
 * Thread exit.  A heap that holds little is cached whole for the next thread
 * (heap/thread/cached_heap.h).  The pages of any other heap go into the lists of abandoned pages.
 *
 * Bounds.  A batch holds at most 32 blocks and 2 KiB (one block of larger classes): at most 128 KiB
 * a thread.  A bin holds at most 64 blocks; limits grow as far as tcache.h says: 49 KiB in all bins
 * of a thread at first.  When the heap grows, all bins and batches are emptied.
 * doc/internals/remote.md draws the states of a page. */
#ifndef MW_HEAP_REMOTE_REMOTE_H
#define MW_HEAP_REMOTE_REMOTE_H

#include "heap/layout/page.h"

/* Returns whether the thread of this heap keeps the page, if it is full, after freeing into it. */
static inline bool mw_remote_reclaims(const mw_heap_t *heap, const mw_page_t *page) {
	return atomic_load_explicit(&((mw_page_t *)(uintptr_t)page)->last_heap,
				    memory_order_relaxed) == heap;
}

/* Frees a block of a page that the calling thread does not own, after mw_remote_add() refused.
 * `heap` is the calling thread's; NULL: it has none, and the block is pushed at once.  Ends the
 * program if the block is the one freed last. */
void mw_remote_free(mw_heap_t *heap, mw_page_t *page, void *block);
/* Empties the bin of a tiny class: returns its blocks, linked, and how many; NULL and 0: none. */
void *mw_remote_take_bin(mw_heap_t *heap, unsigned size_class, uint32_t *count);
/* Moves the blocks of the bin to the batches of their pages, and pushes full batches. */
void mw_remote_flush_bin(mw_heap_t *heap, unsigned size_class);
/* Empties the bins and sends all batches of the calling thread's heap. */
void mw_remote_flush(mw_heap_t *heap);

#endif
