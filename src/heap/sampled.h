/* SPDX-License-Identifier: MIT
 * sampled.h -- mini-slabs: where sampled blocks of small classes live.
 * Layer: heap.  Pages of kind SAMPLED, shared by all threads, one lock a class (MW_RANK_SAMPLED).
 * Their owner word diverts free(), which finds the record id in a table before the blocks. */
#ifndef MW_HEAP_SAMPLED_H
#define MW_HEAP_SAMPLED_H

#include "heap/hooks.h"
#include "heap/page.h"
#include "os/lock.h"

/* A block of the class, not yet bound to a record; NULL: no memory. */
void *mw_sampled_take(unsigned size_class);
void mw_sampled_bind(void *block, mw_record_id_t record);
/* Ends the program on a double free or a pointer that is not a block's start.  Returns the record
 * (0: none); the block may be handed out again at once. */
mw_record_id_t mw_sampled_give(mw_page_t *page, void *block);
mw_lock_t *mw_sampled_lock(unsigned size_class);
void mw_sampled_fork_prepare(void);
void mw_sampled_fork_release(bool in_child);

#endif
