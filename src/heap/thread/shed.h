/* SPDX-License-Identifier: MIT
 * shed.h -- which pages an ending thread leaves to the next thread of its heap, and the end of a
 * heap.
 * Layer: heap.  Owner thread only. */
#ifndef MW_HEAP_THREAD_SHED_H
#define MW_HEAP_THREAD_SHED_H

#include <stddef.h>

#include "heap/layout/page.h"

/* Empties the tcache lists above tiny. */
void mw_heap_flush_tcache(mw_heap_t *heap);
/* Abandons the pages that a cached heap does not keep: all but the first page of each class, and as
 * many others as MW_CACHED_HEAP_BYTES allows.  If it abandons any, the lists above tiny return to
 * their pages first.  Returns the touched bytes of the pages that it keeps. */
size_t mw_heap_shed(mw_heap_t *heap);
/* The heap gives up all of its pages: its lists return to them, block by block. */
void mw_heap_abandon_all(mw_heap_t *heap);

#endif
