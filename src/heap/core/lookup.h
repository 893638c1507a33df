/* SPDX-License-Identifier: MIT
 * lookup.h -- from a pointer of the program to what is known of the block.
 * Layer: heap.  Slow paths only.  Ends the program, naming `function`, when the pointer is not the
 * start of a block; whether a small or medium block is live these cannot see. */
#ifndef MW_HEAP_LOOKUP_H
#define MW_HEAP_LOOKUP_H

#include <stddef.h>

#include "heap/layout/page.h"

/* The page of a block in a chunk: small, medium, sampled or large. */
mw_page_t *mw_lookup_page(const char *function, const void *block);
/* The bytes that the block holds. */
size_t mw_lookup_bytes(const char *function, const void *block);

#endif
