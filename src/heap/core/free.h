/* SPDX-License-Identifier: MIT
 * free.h -- what the fast path of free() leaves over.
 * Layer: heap.  Any thread, at any time, not from signal handlers.  Misuse that is seen ends the
 * program with a message (heap/misuse/misuse.h). */
#ifndef MW_HEAP_FREE_H
#define MW_HEAP_FREE_H

#include <stddef.h>

#include "heap/layout/page.h"

/* Frees NULL, blocks of other threads' pages, blocks that were freed last, sampled, large and huge
 * blocks. */
void mw_heap_free_slow(void *block);
/* Frees any block for functions that say more than free().  `function`: its name, for messages.
 * `bytes` and `align`: what the program takes the block's size and alignment for; MW_NO_CLAIM: the
 * function does not say. */
void mw_heap_free_claimed(void *block, size_t bytes, size_t align, const char *function);
/* The fast path has pushed the block onto an own list, which has no pushes left: the block's page
 * has no block out, or the allocation list of its class is full. */
void mw_heap_free_last(void *block, mw_list_t *list);
/* The list is full: takes the block off again and frees it another way. */
void mw_heap_free_over(void *block, mw_list_t *stack);

#endif
