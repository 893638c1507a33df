/* SPDX-License-Identifier: MIT
 * free.h -- the slow paths of free().
 * Layer: heap.  Any thread, at any time, not from signal handlers.  Detected misuse ends the
 * program with a message (heap/misuse/misuse.h). */
#ifndef MW_HEAP_FREE_H
#define MW_HEAP_FREE_H

#include <stdbool.h>
#include <stddef.h>

#include "heap/layout/page.h"

/* Frees NULL, blocks of other threads' pages, blocks that were freed last, sampled, large and huge
 * blocks. */
void mw_heap_free_slow(void *block);
/* Frees any block, for functions that state more than free() does.  `function`: its name, for
 * messages. `bytes` and `align`: size and alignment that the program claims for the block;
 * MW_NO_CLAIM: the function does not say.  The block is freed as what it is; the claim is checked
 * only if mw_misuse_on_claim asks for it. */
void mw_heap_free_claimed(void *block, size_t bytes, size_t align, const char *function);
/* For a heap of checks in front of this one, which holds blocks back that the program freed.  true:
 * the block is held back; it counts as freed from now on, in profiles, hooks and statistics. false:
 * before it is really freed.  Guarded samples count as in use all the same. */
void mw_heap_set_waiting(void *block, bool waits);
/* Usable bytes of the blocks that are held back, without sampled ones. */
size_t mw_heap_waiting_bytes(void);
/* Called after the fast path pushed the block onto a list of the thread that now has no pushes
 * left: no block of the page is in use, or the tcache list of its class is full. */
void mw_heap_free_last(void *block, mw_list_t *list);
/* The list is full: takes the block off again and frees it another way. */
void mw_heap_free_over(void *block, mw_list_t *list);

#endif
