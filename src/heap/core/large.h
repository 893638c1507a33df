/* SPDX-License-Identifier: MIT
 * large.h -- blocks above the small limit: large ones, which lie in a run of slices, and huge ones,
 * which have a mapping of their own.
 * Layer: heap.  Any thread. */
#ifndef MW_HEAP_CORE_LARGE_H
#define MW_HEAP_CORE_LARGE_H

#include <stdbool.h>
#include <stddef.h>

#include "heap/layout/page.h"
#include "heap/layout/record.h"

/* Allocates a block at a multiple of `align`, a power of two, for the calling thread, whose heap
 * this is.  A block of a smaller size gets the least size of a large one.  Sets *zeroed when it is
 * known whether the block holds zeros.  `arena`: one that the program made, or NULL.  NULL: no
 * memory. */
void *mw_large_alloc(mw_heap_t *heap, mw_arena_t *arena, size_t align, size_t bytes, bool *zeroed);
/* The usable bytes of such a block. */
size_t mw_large_usable_bytes(size_t bytes);
/* Frees a large block; `page`: the first of its run.  Ends the program when the block does not
 * start there. */
void mw_large_free(mw_page_t *page, void *block);
/* Frees a huge block.  Returns its record.  Ends the program when it is not a live huge block. */
mw_record_id_t mw_large_free_huge(void *block);

#endif
