/* SPDX-License-Identifier: MIT
 * misuse.h -- the messages about misuse of the allocator.
 * Door of heap/misuse.  Reading order: misuse (the messages), guarded (sampled blocks between guard
 * pages), guarded_slot.h and guarded_report (the reports about guarded blocks).  Uses heap/layout;
 * hooks ask the layers above.
 * Layer: heap.  Each function ends the program, but those for wrong claims, which do as option
 * on_misuse says.  tests/misuse holds one program for each message; doc/user/safety.md says which
 * build finds what.  `function`: name of the function that the program called. */
#ifndef MW_HEAP_MISUSE_H
#define MW_HEAP_MISUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/page.h"

/* Stands for the size or alignment when the freeing function states none. */
#define MW_NO_CLAIM SIZE_MAX

/* What happens when the size or alignment that a program states is not that of the block. */
typedef enum mw_misuse_action {
	MW_MISUSE_ABORT,  /* a message, and the program ends */
	MW_MISUSE_WARN,   /* a message, once for each place of the program; the block is freed */
	MW_MISUSE_IGNORE, /* the block is freed */
} mw_misuse_action_t;

/* Settings, and two functions of the layer that knows stacks, which are async-signal-safe and do
 * not allocate.  mw_guarded_config_t has the same two. */
typedef struct mw_misuse_config {
	mw_misuse_action_t action;
	unsigned (*take_stack)(uint64_t *pcs, unsigned max_depth, bool in_handler);
	void (*name_place)(uint64_t pc, char *buffer, size_t capacity);
} mw_misuse_config_t;

/* Written by mw_misuse_start() only.  Before that the hardened library aborts, and the others
 * ignore. */
extern mw_misuse_action_t mw_misuse_on_claim;
/* Called once, before threads exist. */
void mw_misuse_start(const mw_misuse_config_t *config);

/* Returns the name of the function that frees in this thread: "free" unless another function has
 * set its name. */
MW_HOOK const char *mw_misuse_function(void);
/* Returns the usable bytes of a block in a sampled-slot page. */
MW_HOOK size_t mw_misuse_sampled_bytes(const mw_page_t *page, const void *block);
/* Prints on stderr where the block at this address, in a page of a chunk, was allocated, if it is
 * sampled. */
MW_HOOK void mw_misuse_show_origin(const mw_page_t *page, const void *block);

/* The pointer lies in no chunk and no mapping of the heap. */
_Noreturn void mw_misuse_foreign(const char *function, const void *block);
/* The pointer lies in a chunk, but in no live page: its block was freed before, or never handed
 * out. */
_Noreturn void mw_misuse_dead(const char *function, const void *block, const mw_page_t *page);
/* The pointer is not the start of a block. */
_Noreturn void mw_misuse_misaligned(const char *function, const void *block, const mw_page_t *page);
_Noreturn void mw_misuse_double_free(const char *function, const void *block,
				     const mw_page_t *page);
/* mw_misuse_double_free() for the function that frees in this thread.  It has one argument less,
 * for callers on hot paths. */
MW_COLD _Noreturn void mw_misuse_free_again(const mw_page_t *page, const void *block);
_Noreturn void mw_misuse_double_free_huge(const char *function, const void *block, size_t bytes);
/* The size or alignment that free_sized() and its kin name is not that of the live block of
 * `capacity` bytes.  `asked_bytes`: bytes that malloc() was called with; MW_NO_CLAIM: not known.
 * Returns unless mw_misuse_on_claim is MW_MISUSE_ABORT: the caller then frees the block as what it
 * is. */
MW_COLD void mw_misuse_size(const char *function, const void *block, size_t claimed_bytes,
			    size_t capacity, size_t asked_bytes);
MW_COLD void mw_misuse_align(const char *function, const void *block, size_t align,
			     size_t capacity);
/* Hardened library: the pointer is not a live block of 0 bytes. */
MW_COLD _Noreturn void mw_misuse_empty(const char *function, const void *block);
/* Hardened library: the canary or the last word of the live block was overwritten. */
_Noreturn void mw_misuse_past_end(const char *function, const void *block, size_t capacity,
				  size_t asked_bytes);
/* Hardened library: link, tag or fill of a free block were overwritten. */
_Noreturn void mw_misuse_after_free(const void *block, const mw_page_t *page);

#endif
