/* SPDX-License-Identifier: MIT
 * misuse.h -- the messages for pointers that should not have come.
 * Layer: heap.  Each ends the program; tests/misuse holds one program a message. */
#ifndef MW_HEAP_MISUSE_H
#define MW_HEAP_MISUSE_H

#include <stddef.h>

#include "heap/page.h"

/* Not in any chunk or mapping of ours. */
_Noreturn void mw_misuse_foreign(const char *function, const void *block);
/* In a chunk of ours, but in no live page: freed before, or never given out. */
_Noreturn void mw_misuse_dead(const char *function, const void *block, const mw_page_t *page);
/* Not at the start of a block. */
_Noreturn void mw_misuse_misaligned(const char *function, const void *block, const mw_page_t *page);
_Noreturn void mw_misuse_double_free(const void *block, const mw_page_t *page);
_Noreturn void mw_misuse_double_free_huge(const void *block, size_t bytes);

#endif
