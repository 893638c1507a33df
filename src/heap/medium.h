/* SPDX-License-Identifier: MIT
 * medium.h -- records of sampled medium blocks: a table behind the blocks of their page.
 * Layer: heap.  A block's entry belongs to whoever holds the block. */
#ifndef MW_HEAP_MEDIUM_H
#define MW_HEAP_MEDIUM_H

#include "heap/hooks.h"
#include "heap/page.h"

/* The owner of the page, which is making the block. */
void mw_medium_set_record(void *block, mw_record_id_t record);
/* Takes the record away from a block that is being freed; 0: none. */
mw_record_id_t mw_medium_take_record(mw_page_t *page, const void *block);

#endif
