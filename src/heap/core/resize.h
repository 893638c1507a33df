/* SPDX-License-Identifier: MIT
 * resize.h -- usable sizes, and realloc().
 * Layer: heap.  Any thread, at any time, not from signal handlers.
 *
 * Which class a small block gets.  Each byte that the thread's pages take of fresh memory pays for
 * one byte of a copy; the thread saves up at most MW_COPY_SAVED_MAX_BYTES.  While copies are paid
 * for, which is while the heap grows, a block that changes its size gets the class of that size.
 * So blocks that are kept do not make the heap grow by what they no longer need.  A program that
 * frees such blocks soon needs no fresh memory, and does not copy them.
 *
 * Else a block that becomes smaller stays where it is while at least half of it is used, and a
 * block that grows by less than a quarter gets room for a quarter more, up to 4 KiB. */
#ifndef MW_HEAP_RESIZE_H
#define MW_HEAP_RESIZE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the usable bytes of a block.  Ends the program if it finds that `block` is not a live
 * block. */
size_t mw_heap_usable_bytes(const void *block);
/* Returns whether a small block that becomes smaller, or not larger, stays in place.  false: it
 * grows, or the caller moves it, which is paid for now. */
bool mw_heap_shrink_stays(size_t usable_bytes, size_t bytes);
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
