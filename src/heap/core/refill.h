/* SPDX-License-Identifier: MIT
 * refill.h -- finds the page that a refill takes blocks from.
 * Layer: heap.  Owner thread only. */
#ifndef MW_HEAP_REFILL_H
#define MW_HEAP_REFILL_H

#include "heap/layout/page.h"

/* Returns a page of the class with free blocks or room to carve, at the front of its queue: queued
 * before, abandoned by another thread, or new.  NULL: no memory. */
mw_page_t *mw_heap_page_find(mw_heap_t *heap, unsigned size_class);

#endif
