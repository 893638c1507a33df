/* SPDX-License-Identifier: MIT
 * lookup.h -- from a pointer of the program to its block.
 * Layer: heap.  Slow paths only.  Functions with a parameter `function` end the program, naming it,
 * when the pointer is not the start of a block.  The functions do not check whether a small block
 * is live. */
#ifndef MW_HEAP_LOOKUP_H
#define MW_HEAP_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>

#include "heap/layout/page.h"

/* Returns the page of a block in a chunk: small, sampled or large. */
mw_page_t *mw_lookup_page(const char *function, const void *block);
/* Returns the bytes that the block holds. */
size_t mw_lookup_bytes(const char *function, const void *block);
/* Returns the number of the arena that holds the block; 0: no arena does. */
unsigned mw_heap_arena_of(const void *block);
/* Returns whether a block starts at the address, which may be any word. */
bool mw_lookup_is_block(const void *address);

#endif
