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
 * freed block faults.  A 0 that is written to a freed block does no harm there: the block is handed
 * out as if nobody had. */
#define MW_HARDEN_FILL UINT64_C(0)
/* Blocks up to this size, for requests of up to 152 bytes, are filled as a whole when they are
 * freed, and compared as a whole before they are handed out: they are three cache lines at most, of
 * which free() and malloc() use the first and the last in any case. */
#define MW_HARDEN_WIPED_BYTES 160u

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

/* Fills a block of up to MW_HARDEN_WIPED_BYTES behind its first 16 bytes.  Stores overlap, so that
 * most sizes take two branches and no loop.  In a block of 32 bytes one store reaches the first 16
 * bytes, where the link is written afterwards. */
MW_ALWAYS_INLINE void mw_harden_wipe(char *block, size_t capacity) {
	char *end = block + capacity;
	mw_harden_store_fill(block + 16);
	mw_harden_store_fill(end - 32);
	mw_harden_store_fill(end - 16);
	if (capacity <= 64)
		return;
	mw_harden_store_fill(block + 32);
	mw_harden_store_fill(block + 48);
	if (MW_LIKELY(capacity <= 96))
		return;
	mw_harden_store_fill(block + 64);
	mw_harden_store_fill(block + 80);
	mw_harden_store_fill(end - 64);
	mw_harden_store_fill(end - 48);
}
_Static_assert(MW_HARDEN_WIPED_BYTES <= 96 + 64, "the stores reach all bytes");

MW_ALWAYS_INLINE mw_harden_pair_t mw_harden_pair(const char *at) {
	return *(const mw_harden_pair_t *)(const void *)at;
}

/* Returns whether the part behind the first 32 bytes is as mw_harden_wipe() left it. */
MW_ALWAYS_INLINE bool mw_harden_is_wiped(const char *block, size_t capacity) {
	const char *end = block + capacity;
	if (capacity > MW_HARDEN_WIPED_BYTES || capacity == 32)
		return true;
	mw_harden_pair_t changed = mw_harden_pair(end - 32) | mw_harden_pair(end - 16);
	if (capacity > 64) {
		changed |= mw_harden_pair(block + 32) | mw_harden_pair(block + 48);
		if (MW_UNLIKELY(capacity > 96))
			changed |= mw_harden_pair(block + 64) | mw_harden_pair(block + 80) |
				   mw_harden_pair(end - 64) | mw_harden_pair(end - 48);
	}
	return (changed[0] | changed[1]) == 0;
}

/* Fills a block that becomes free, before it is linked, behind link and tag.  Of larger blocks only
 * 16 bytes are filled: more would cost a cache miss for each line. */
MW_ALWAYS_INLINE void mw_harden_fill(char *block, size_t capacity) {
	if (capacity <= MW_HARDEN_WIPED_BYTES)
		mw_harden_wipe(block, capacity);
	else
		mw_harden_store_fill(block + 16);
}

/* Fill byte of a block that is filled as a whole.  It differs from the other fill, so that
 * mw_harden_alloc_tiny() leaves such blocks to the slow path. */
#define MW_HARDEN_WHOLE_FILL 0xde

/* Fills a block that becomes free, before it is linked: all bytes behind link and tag, or those
 * that mw_harden_fill() fills. */
MW_ALWAYS_INLINE void mw_harden_fill_free(char *block, size_t capacity) {
	if (MW_UNLIKELY(mw_harden_is_whole))
		memset(block + 16, MW_HARDEN_WHOLE_FILL, capacity - 16);
	else
		mw_harden_fill(block, capacity);
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
_Static_assert(MW_SMALL_MAX_BYTES - 7 <= UINT16_MAX, "a slack, and 1, fits its place");

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
