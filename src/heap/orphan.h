/* SPDX-License-Identifier: MIT
 * orphan.h -- pages of ended threads, waiting for a thread that needs their class.
 * Layer: heap.  One list and lock (MW_RANK_ORPHANS) a class. */
#ifndef MW_HEAP_ORPHAN_H
#define MW_HEAP_ORPHAN_H

#include <stdbool.h>

#include "heap/page.h"
#include "os/lock.h"

/* The calling thread owns `page`, which is in no list and has no PENDING flag. */
void mw_orphan_add(mw_page_t *page);
/* A page of the class, or NULL; it is in no list, and its ORPHAN flag is gone. */
mw_page_t *mw_orphan_take(unsigned size_class);
/* The calling thread owns `page`, which is in no list, and none of whose blocks is out.  Its slice
 * goes back to the chunk, or waits here for the others of its run. */
void mw_orphan_give(mw_page_t *page);
/* All blocks of the orphan may have come back: frees it if that is so. */
void mw_orphan_reclaim(mw_page_t *page, unsigned size_class);
size_t mw_orphan_count(void);
mw_lock_t *mw_orphan_lock(unsigned size_class);
void mw_orphan_fork_prepare(void);
void mw_orphan_fork_release(bool in_child);

#endif
