/* SPDX-License-Identifier: MIT
 * resize.h -- usable sizes, and realloc().
 * Layer: heap.  Any thread, at any time, not from signal handlers. */
#ifndef MW_HEAP_RESIZE_H
#define MW_HEAP_RESIZE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the usable bytes of a block.  Ends the program if it finds that `block` is not a live
 * block. */
size_t mw_heap_usable_bytes(const void *block);
/* Resizes without a copy: in place, or by mremap(2).  NULL: that is not possible.  *usable_bytes:
 * bytes of the block before. */
void *mw_heap_resize_in_place(void *block, size_t bytes, size_t *usable_bytes);
/* Resizes in place if it can, else moves the contents: as many usable bytes as both sizes have.
 * block != NULL, bytes > 0. */
void *mw_heap_resize(void *block, size_t bytes);
/* True once a block stayed larger than its new size, because there was no memory for a smaller
 * block. */
extern bool mw_heap_blocks_stayed; /* relaxed: a hint */

#endif
