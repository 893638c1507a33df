/* SPDX-License-Identifier: MIT
 * misuse.h -- the messages for what programs may not do.
 * Door of heap/misuse.  Reading order: misuse (the messages), guarded (sampled blocks between guard
 * pages), guarded_slot.h and guarded_report (the reports about them).
 * Layer: heap.  Each function ends the program; tests/misuse holds one program a message,
 * doc/user/safety.md says which build finds what.  `function` is what the program called. */
#ifndef MW_HEAP_MISUSE_H
#define MW_HEAP_MISUSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/page.h"

/* For the size or alignment of a free() that names none. */
#define MW_NO_CLAIM SIZE_MAX

/* The function that frees in this thread: "free" unless another has said its name. */
MW_HOOK const char *mw_misuse_function(void);
/* Usable bytes of a block in a sampled-slot page. */
MW_HOOK size_t mw_misuse_sampled_bytes(const mw_page_t *page, const void *block);
/* Prints on stderr where the block at this address, in a page of a chunk, was allocated, if it is
 * sampled. */
MW_HOOK void mw_misuse_show_origin(const mw_page_t *page, const void *block);

/* Not in any chunk or mapping of ours. */
_Noreturn void mw_misuse_foreign(const char *function, const void *block);
/* In a chunk of ours, but in no live page: freed before, or never given out. */
_Noreturn void mw_misuse_dead(const char *function, const void *block, const mw_page_t *page);
/* Not at the start of a block. */
_Noreturn void mw_misuse_misaligned(const char *function, const void *block, const mw_page_t *page);
_Noreturn void mw_misuse_double_free(const char *function, const void *block,
				     const mw_page_t *page);
/* The same, said by whichever function the program called: one call, from where it must not cost.
 */
MW_COLD _Noreturn void mw_misuse_free_again(const mw_page_t *page, const void *block);
_Noreturn void mw_misuse_double_free_huge(const char *function, const void *block, size_t bytes);
/* A live block of `capacity` bytes whose size or alignment is not what free_sized() and its kin
 * say.  `asked_bytes`: what malloc() was asked for; MW_NO_CLAIM: not known. */
_Noreturn void mw_misuse_size(const char *function, const void *block, size_t claimed_bytes,
			      size_t capacity, size_t asked_bytes);
_Noreturn void mw_misuse_align(const char *function, const void *block, size_t align,
			       size_t capacity);
/* The hardened library: canary or last word of the live block are gone. */
_Noreturn void mw_misuse_past_end(const char *function, const void *block, size_t capacity,
				  size_t asked_bytes);
/* The hardened library: link, tag or fill of a free block are gone. */
_Noreturn void mw_misuse_after_free(const void *block, const mw_page_t *page);

#endif
