/* SPDX-License-Identifier: MIT
 * abandoned.h -- pages without a thread.  A list and a lock (MW_RANK_ABANDONED) for each size class
 * hold the pages with free blocks; full pages are in no list.
 * Layer: heap.  The flags of the remote word (heap/layout/remote_word.h) decide who owns a page;
 * the list only finds pages.  A page may still be in the list for a moment after its flags were
 * cleared. */
#ifndef MW_HEAP_REMOTE_ABANDONED_H
#define MW_HEAP_REMOTE_ABANDONED_H

#include "heap/layout/page.h"
#include "os/lock/lock.h"

/* Gives up a page without a free block that the calling thread owns and that is in no list.  False:
 * a block came back meanwhile; the thread still owns the page, which must be claimed again. */
bool mw_abandoned_abandon_full(mw_page_t *page);
/* Gives up any page that the calling thread owns and that is in no list: the page goes into the
 * class's list; or into no list if it is full; or back to its chunk if all of its blocks are free.
 */
void mw_abandoned_add(mw_page_t *page);
/* A page of the class with free blocks that the calling thread owns now, in no list; NULL: there is
 * none. */
mw_page_t *mw_abandoned_take(unsigned size_class);
/* Called by the thread that brought the last block of a listed page back: returns the page's slice
 * to its chunk. */
void mw_abandoned_end(mw_page_t *page);
/* Gives the slice of a page back to its chunk: the calling thread owns the page, the page is in no
 * list, and none of its blocks is in use.  The slices of a run wait here for each other, as
 * abandoned pages. */
void mw_abandoned_give(mw_page_t *page);
/* Pages in the lists of all classes. */
size_t mw_abandoned_count(void);
mw_lock_t *mw_abandoned_lock(unsigned size_class);
void mw_abandoned_fork_prepare(void);
void mw_abandoned_fork_release(bool in_child);

#endif
