/* SPDX-License-Identifier: MIT
 * refill.h -- fills the empty tcache list of a class: with what a former thread left, with blocks
 * of the bin, or from a page that is queued, abandoned by a thread, or new. Layer: heap.  Owner
 * thread only. */
#ifndef MW_HEAP_REFILL_H
#define MW_HEAP_REFILL_H

#include "heap/layout/page.h"

/* Called after mw_fast_alloc() returned NULL.  Serves the most common refill: a tiny class whose
 * next list is ready, with no sample in it.  NULL: another kind of refill is needed. */
void *mw_refill_at_once(size_t bytes);
/* Returns a block of the class after the pop returned none: a block of a list that is left, or else
 * a sample if one is due, or else a block of a list that is filled, up to the next sample. `bytes`:
 * the bytes that the program requested.  NULL: no memory. */
void *mw_refill(mw_heap_t *heap, unsigned size_class, size_t bytes);

#endif
