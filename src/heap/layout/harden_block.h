/* SPDX-License-Identifier: MIT
 * harden_block.h -- what the hardened library writes into free blocks, and how many bytes more than
 * the program it requests.
 * Layer: heap.  heap/harden/harden.h describes the life of a block. */
#ifndef MW_HEAP_HARDEN_BLOCK_H
#define MW_HEAP_HARDEN_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "heap/layout/page.h"
#include "heap/layout/size_class.h"

#ifdef MW_HARDENED

/* Bytes that are requested from the heap so that the program gets `bytes`; mw_harden_requested() is
 * the reverse. */
static inline size_t mw_harden_room(size_t bytes) {
	return bytes <= PTRDIFF_MAX ? bytes + sizeof(uint64_t) : bytes;
}
static inline size_t mw_harden_requested(size_t room) {
	return room - sizeof(uint64_t);
}

/* Draws the secrets of the process at the first call.  The caller holds the heaps lock. */
void mw_harden_start(void);
/* Draws a number below `limit`.  The high half of a 64-bit product: its bias is too small to
 * matter. */
uint32_t mw_harden_draw_below(uint64_t *state, uint32_t limit);

/* Sets whether blocks of up to 64 KiB are filled and checked as a whole; called before the first
 * block.  The fast paths of tiny blocks are left out then: no page says that it is the thread's
 * own, and another fill is used. */
void mw_harden_fill_whole(bool whole);
extern bool mw_harden_is_whole;
static inline bool mw_harden_has_fast_paths(void) {
	return !mw_harden_is_whole;
}

/* The fill.  Read as a pointer it is no address of a program: a program that follows a pointer of a
 * freed block faults. */
#define MW_HARDEN_FILL UINT64_C(0xdfdfdfdfdfdfdfdf)

/* Blocks are aligned to 16: two words at a time. */
typedef uint64_t mw_harden_pair_t __attribute__((vector_size(16), may_alias));

static inline uint64_t mw_harden_load(const char *at) {
	uint64_t word;
	__builtin_memcpy(&word, at, sizeof word);
	return word;
}

static inline void mw_harden_store(char *at, uint64_t word) {
	__builtin_memcpy(at, &word, sizeof word);
}

static inline void mw_harden_store_fill(char *at) {
	const mw_harden_pair_t fill = {MW_HARDEN_FILL, MW_HARDEN_FILL};
	*(mw_harden_pair_t *)(void *)at = fill;
}

/* Fills the second 16 bytes of a block that becomes free, before it is linked.  To fill more would
 * cost a cache miss for each line. */
MW_ALWAYS_INLINE void mw_harden_fill(char *block) {
	mw_harden_store_fill(block + 16);
}

/* Fill byte of a block that is filled as a whole.  It differs from the other fill, so that
 * mw_harden_alloc_tiny() leaves such blocks to the slow path. */
#define MW_HARDEN_WHOLE_FILL 0xde

/* Fills a block that becomes free, before it is linked: all bytes behind link and tag, or the first
 * 16 of them. */
MW_ALWAYS_INLINE void mw_harden_fill_free(char *block, size_t capacity) {
	if (MW_UNLIKELY(mw_harden_is_whole))
		memset(block + 16, MW_HARDEN_WHOLE_FILL, capacity - 16);
	else
		mw_harden_fill(block);
}

/* Folds both words of the fill into one.  A change of one word always shows; changes of both words
 * cancel out only if one is a multiple of the other.  The factor is odd. */
#define MW_HARDEN_FILL_FACTOR 107u
static inline uint64_t mw_harden_fold(uint64_t first, uint64_t second) {
	return first + second * MW_HARDEN_FILL_FACTOR;
}

/* Returns whether the fill of a free block, whose link is right, is unchanged. */
MW_ALWAYS_INLINE bool mw_harden_is_untouched(const char *block) {
	return mw_harden_load(block + 16) == MW_HARDEN_FILL &&
	       mw_harden_load(block + 24) == MW_HARDEN_FILL;
}

/* Slack table in the chunk's metadata: one number for each KiB at which a block above tiny may
 * start.  The number is the bytes of the block that the program did not ask for. */
#define MW_SLACK_TABLE_OFFSET MW_CHUNK_META_END
#define MW_SLACK_TABLE_BYTES (MW_CHUNK_BYTES / 1024 * sizeof(uint16_t))
_Static_assert(MW_SMALL_MAX_BYTES - 1 <= UINT16_MAX, "a slack fits its place");

#else

static inline size_t mw_harden_room(size_t bytes) {
	return bytes;
}

static inline size_t mw_harden_requested(size_t room) {
	return room;
}

static inline void mw_harden_start(void) {
}

static inline void mw_harden_fill_whole(bool whole) {
	(void)whole;
}

static inline bool mw_harden_has_fast_paths(void) {
	return true;
}

#endif

#endif
