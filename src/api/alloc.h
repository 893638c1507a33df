/* SPDX-License-Identifier: MIT
 * alloc.h -- allocation functions that libc's names, C++ operators and other allocators' names
 * share.
 * Layer: api. */
#ifndef MW_API_ALLOC_H
#define MW_API_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/core/fast.h"
#include "heap/harden/harden_fast.h"

/* Slow paths of malloc() and the other functions. They start the library on its first use and set
 * errno to ENOMEM on failure; else they keep errno. */
MW_NOINLINE void *mw_api_alloc(size_t bytes);
MW_NOINLINE void *mw_api_alloc_zeroed(size_t bytes);
MW_NOINLINE void *mw_api_alloc_aligned(size_t align, size_t bytes);
/* Allocates in the arena with the given number; `zero`: sets the contents to zero. */
MW_NOINLINE MW_COLD void *mw_api_alloc_in(unsigned arena, size_t align, size_t bytes, bool zero);
/* Serves a request from an arena when the thread's list of its blocks is empty. NULL: no memory, or
 * the size has no list; errno is kept. */
struct mw_arena_lists;
MW_NOINLINE MW_COLD void *mw_api_alloc_listed(struct mw_arena_lists *lists, size_t bytes);
MW_NOINLINE void *mw_api_realloc(void *block, size_t bytes);

/* Fills the memory of a new block, if an option asks for it. */
MW_NOINLINE MW_COLD void mw_api_fill(void *start, size_t bytes);

/* Sets the usable bytes of the block beyond `bytes` to zero. */
MW_NOINLINE MW_COLD void mw_api_zero_rest(void *block, size_t bytes);

/* Sets errno to ENOMEM and returns NULL. With option xmalloc it prints a message and aborts
 * instead. Reports a refusal because of the hard limit. */
MW_NOINLINE MW_COLD void *mw_api_no_memory(void);
/* Implements realloc(block, 0). */
MW_NOINLINE MW_COLD void *mw_api_realloc_zero(void *block);

/* Serves malloc() from a tcache list that is not empty. NULL: the caller calls
 * mw_api_alloc(). */
MW_ALWAYS_INLINE void *mw_api_alloc_fast(size_t bytes) {
	return MW_HARDEN_ON ? mw_harden_alloc_tiny(bytes) : mw_fast_alloc(bytes);
}

/* Like mw_api_alloc_fast(), for an alignment that is a power of two. NULL: the caller calls
 * mw_api_alloc_aligned(). */
MW_ALWAYS_INLINE void *mw_api_aligned_fast(size_t align, size_t bytes) {
	return MW_HARDEN_ON ? mw_harden_alloc_aligned(align, bytes)
			    : mw_fast_alloc_aligned(align, bytes);
}

MW_ALWAYS_INLINE void *mw_api_aligned(size_t align, size_t bytes) {
	void *block = mw_api_aligned_fast(align, bytes);
	return MW_LIKELY(block != NULL) ? block : mw_api_alloc_aligned(align, bytes);
}

/* Map by which the functions that state a size find a block's chunk: mw_address_map, or a map
 * without chunks, which sends each block to the slow path (mw_api_divert_sized()). */
extern __attribute__((visibility("hidden"))) const uint8_t *mw_api_sized_map;

/* Frees a block for functions that pass its size or alignment (MW_NO_CLAIM: they do not). The
 * hardened library always checks both. The other libraries check them if option on_misuse asks for
 * it: then, by mw_api_sized_map, in the slow path. */
MW_ALWAYS_INLINE void mw_api_free_claimed(void *block, size_t bytes, size_t align,
					  const char *function) {
	bool is_sized = !(__builtin_constant_p(bytes) && bytes == MW_NO_CLAIM);
	if (MW_HARDEN_ON)
		mw_harden_free_claimed(function, block, bytes, align);
	else if (MW_UNLIKELY(!mw_fast_free_by(is_sized ? mw_api_sized_map : mw_address_map, block)))
		mw_heap_free_claimed(block, bytes, align, function);
}

MW_ALWAYS_INLINE void mw_api_free(void *block) {
	if (MW_HARDEN_ON)
		mw_harden_free(block);
	else
		mw_fast_free(block);
}

#endif
