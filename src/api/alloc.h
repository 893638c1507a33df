/* SPDX-License-Identifier: MIT
 * alloc.h -- what the faces of the API share: allocation with start-up and errno.
 * Layer: api. */
#ifndef MW_API_ALLOC_H
#define MW_API_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include "heap/fast.h"
#include "heap/harden_fast.h"

/* The slow ends of malloc() and its kin: start the library on its first use, set errno to ENOMEM on
 * failure and leave it alone otherwise. */
MW_NOINLINE void *mw_api_alloc(size_t bytes);
MW_NOINLINE void *mw_api_alloc_zeroed(size_t bytes);
MW_NOINLINE void *mw_api_alloc_aligned(size_t align, size_t bytes);
/* In the arena of that number, with its contents set to zero or not; few programs do. */
MW_NOINLINE MW_COLD void *mw_api_alloc_in(unsigned arena, size_t align, size_t bytes, bool zero);
MW_NOINLINE void *mw_api_realloc(void *block, size_t bytes);

/* What options say of requests that fail, or that standards leave open. */
typedef enum mw_zero_realloc { /* in the order of the option's words */
			       MW_ZERO_REALLOC_ALLOC,
			       MW_ZERO_REALLOC_FREE,
			       MW_ZERO_REALLOC_ABORT,
} mw_zero_realloc_t;
typedef enum mw_api_fill { MW_FILL_NONE, MW_FILL_JUNK, MW_FILL_ZERO } mw_api_fill_t;
typedef struct mw_api_policy {
	mw_api_fill_t fill;  /* what new blocks hold; but for NONE they all come the slow way */
	bool xmalloc;        /* out of memory ends the program... */
	bool infallible_new; /* ...in operator new */
	bool keep_deepbind;  /* dlopen() honours RTLD_DEEPBIND */
	mw_zero_realloc_t zero_realloc;
} mw_api_policy_t;
extern mw_api_policy_t mw_api_policy; /* set before threads exist */

/* Fills memory that a block has got, if new blocks are to hold something. */
MW_NOINLINE MW_COLD void mw_api_fill(void *start, size_t bytes);

/* All that the block can hold beyond so many bytes. */
MW_NOINLINE MW_COLD void mw_api_zero_rest(void *block, size_t bytes);

/* Whoever returns NULL for want of memory returns this: errno is set. */
MW_NOINLINE MW_COLD void *mw_api_no_memory(void);
/* realloc(block, 0) */
MW_NOINLINE MW_COLD void *mw_api_realloc_zero(void *block);

/* malloc() for the list that is not empty; NULL: mw_api_alloc() does the rest. */
MW_ALWAYS_INLINE void *mw_api_alloc_fast(size_t bytes) {
	return MW_HARDEN_ON ? mw_harden_alloc_tiny(bytes) : mw_fast_alloc(bytes);
}

/* The same for an alignment, a power of two; NULL: mw_api_alloc_aligned() does the rest. */
MW_ALWAYS_INLINE void *mw_api_aligned_fast(size_t align, size_t bytes) {
	return MW_HARDEN_ON ? mw_harden_alloc_aligned(align, bytes)
			    : mw_fast_alloc_aligned(align, bytes);
}

MW_ALWAYS_INLINE void *mw_api_aligned(size_t align, size_t bytes) {
	void *block = mw_api_aligned_fast(align, bytes);
	return MW_LIKELY(block != NULL) ? block : mw_api_alloc_aligned(align, bytes);
}

/* For functions that are not free(), or say what they free (MW_NO_CLAIM: they do not).  What they
 * say is looked at on the slow path only, unless the library is the hardened one. */
MW_ALWAYS_INLINE void mw_api_free_claimed(void *block, size_t bytes, size_t align,
					  const char *function) {
	if (MW_HARDEN_ON) {
		mw_harden_free_claimed(function, block, bytes, align);
	} else if (MW_UNLIKELY(!mw_fast_free_own(block))) {
		mw_heap_free_claimed(block, bytes, align, function);
	}
}

MW_ALWAYS_INLINE void mw_api_free(void *block) {
	if (MW_HARDEN_ON)
		mw_harden_free(block);
	else
		mw_fast_free(block);
}

#endif
