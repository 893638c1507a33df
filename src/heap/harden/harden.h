/* SPDX-License-Identifier: MIT
 * harden.h -- what malloc(), free() and realloc() of the hardened library (libmallow_secure) do in
 * addition to those of the plain one.
 * Layer: heap.  Design: doc/internals/hardened.md.
 *
 * Life of a block of up to 64 KiB in the hardened library.  While it is free its first word is the
 * encoded link and its second word a tag that belongs to the link; both are made of the block's
 * address and secrets of the process.  The next 16 bytes are filled.  malloc() checks link, tag and
 * fill, and seals the block: it writes a canary right behind the requested bytes and their number,
 * encoded, into the last word of the block, above tiny into a table.  free() checks both, unseals,
 * fills and links.  A tiny block goes to its page's list; a refill holds the younger part of the
 * list back (mw_harden_hold_back()).  A block of another thread or of a full page, and a block
 * above tiny, goes to the thread's quarantine; the block that it displaces there is freed as in the
 * plain library.  Blocks above 64 KiB have canary and last word; their page or table knows whether
 * they are free.
 *
 * Door of heap/harden.  Reading order: harden.h, harden_seal.h (seals and canaries), harden_fast.h
 * (the fast paths), harden.c.  Lower layers hold for the hardened library: heap/layout/link.h
 * (encoded links), heap/layout/harden_block.h (the fill of free blocks), heap/memory/harden_space.h
 * (guards, large blocks that wait), heap/local/harden_lists.h (the order of lists, blocks held
 * back).  Without MW_HARDENED these headers define what the plain library does in the same place,
 * or nothing. */
#ifndef MW_HEAP_HARDEN_H
#define MW_HEAP_HARDEN_H

#include <stddef.h>

/* src/api calls these functions if MW_HARDEN_ON (heap/layout/link.h). */

/* malloc() of small sizes if blocks are filled as a whole; NULL: blocks are not filled as a whole,
 * or the list of free blocks is empty. */
void *mw_harden_alloc_whole(size_t bytes);
/* malloc(0); NULL: an ordinary block must do. */
void *mw_harden_empty_alloc(void);
/* Seals a block of mw_harden_room(bytes) that the heap allocated, and returns the program's block.
 */
void *mw_harden_give_out(void *block, size_t bytes) __attribute__((returns_nonnull));
/* Frees NULL, or a block that mw_harden_free_claimed() does not handle.  Ends the program when
 * `block` is not live, was written past its end, or differs from the program's claims. */
void mw_harden_free_rest(const char *function, void *block, size_t bytes, size_t align);
/* mw_heap_resize(), with the same checks. */
void *mw_harden_resize(void *block, size_t bytes);
/* Returns the bytes that the program requested, which are all it may use. */
size_t mw_harden_usable_bytes(const void *block);

#endif
