/* SPDX-License-Identifier: MIT
 * harden_seal.h -- the seal and the canaries of a live block of the hardened library.
 * Layer: heap.  No function here ends the program: if a word is wrong, the caller takes the slow
 * path, which checks again in the order of the messages. */
#ifndef MW_HEAP_HARDEN_SEAL_H
#define MW_HEAP_HARDEN_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/core/fast.h"
#include "heap/layout/harden_block.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/misuse/misuse.h"
#include "os/memory/map.h"

#ifdef MW_HARDENED

/* Returns the canary of a block.  `mix`: mw_harden_mix() of its address, computed once a call. */
static inline uint64_t mw_harden_canary(uint64_t mix) {
	return mix ^ mw_harden_keys.canary;
}

/* Returns whether link, tag and fill of a free block are right, in one test.  `word`: the block's
 * first word.  The key is that of the tag combined with the fill of an untouched block. */
MW_ALWAYS_INLINE bool mw_harden_is_fresh(const char *block, uint64_t word, uint64_t mix) {
	uint64_t fill = mw_harden_fold(mw_harden_load(block + 16), mw_harden_load(block + 24));
	return (fill ^ mw_harden_keys.fresh ^ word) + mix == mw_harden_load(block + sizeof word);
}

/* Returns the seal of a block of which the program requested `bytes`.  Canaries are odd and the
 * number takes the bits above the lowest three, so the first byte of a seal is never 0: the
 * commonest overrun, the end of a string, shows.  Of the 256 values that may overwrite that byte, 0
 * among them, 7 in 8 make the number an impossible one; the others make it a number behind which no
 * canary stands. */
#define MW_HARDEN_SIZE_SHIFT 3u
static inline uint64_t mw_harden_seal_for(size_t bytes, uint64_t canary) {
	return canary ^ (uint64_t)bytes << MW_HARDEN_SIZE_SHIFT;
}

/* Returns the bytes that the program requested, according to the seal; a number beyond the block's
 * size: it is no seal. */
static inline uint64_t mw_harden_sealed_bytes(uint64_t seal, uint64_t canary) {
	uint64_t bytes = seal ^ canary;
	return bytes >> MW_HARDEN_SIZE_SHIFT | bytes << (64 - MW_HARDEN_SIZE_SHIFT);
}

/* Returns the word that stands behind the requested bytes, `bits` of them, in a block whose last
 * word is the seal.  It is the seal rotated, so that both agree where they overlap: they are
 * `capacity - 8 - bytes` apart, of which only the lowest three bits count, as capacities are
 * multiples of 16. */
static inline uint64_t mw_harden_behind(uint64_t seal, uint64_t bits) {
	/* The empty statement keeps the compiler from masking what a rotation masks itself. */
	__asm__("" : "+r"(bits));
	return seal >> bits % 64 | seal << -bits % 64;
}

/* Two more canaries follow the first one where the block has room, so that an overrun that skips
 * the first one shows.  All are the same word, as they are multiples of 8 bytes apart.  Returns the
 * bytes from one to the next: 0, all three in one place, if the third would end behind `last`, the
 * block's last word.  Computed without a branch, which would go either way as often as the sizes
 * that the program asks for differ. */
MW_ALWAYS_INLINE size_t mw_harden_canary_step(const char *first, const char *last) {
	size_t step = (size_t)(first + 2 * sizeof(uint64_t) <= last) * sizeof(uint64_t);
	/* The empty statement keeps the compiler from making a branch of the choice. */
	__asm__("" : "+r"(step));
	return step;
}

/* Writes canaries and size into a tiny or large block that is about to be handed out. */
MW_ALWAYS_INLINE void mw_harden_seal(char *block, size_t capacity, size_t bytes, uint64_t canary) {
	uint64_t bits = (uint64_t)bytes << MW_HARDEN_SIZE_SHIFT;
	/* The empty statement keeps the compiler from computing the value twice. */
	__asm__("" : "+r"(bits));
	uint64_t seal = canary ^ bits, behind = mw_harden_behind(seal, bits);
	char *first = block + bytes, *last = block + capacity - sizeof seal;
	mw_harden_store(first, behind);
	/* A canary that reaches into the seal agrees with it there. */
	size_t step = mw_harden_canary_step(first, last);
	mw_harden_store(first + step, behind);
	mw_harden_store(first + 2 * step, behind);
	mw_harden_store(last, seal);
}

static inline uint64_t mw_harden_seal_of(const char *block, size_t capacity) {
	return mw_harden_load(block + capacity - sizeof(uint64_t));
}

/* Returns whether the canaries behind the block's `bytes` belong to its seal. */
MW_ALWAYS_INLINE bool mw_harden_is_sealed(const char *block, size_t capacity, size_t bytes,
					  uint64_t seal) {
	const char *first = block + bytes, *last = block + capacity - sizeof seal;
	uint64_t canary = mw_harden_behind(seal, (uint64_t)bytes << MW_HARDEN_SIZE_SHIFT);
	size_t step = mw_harden_canary_step(first, last);
	uint64_t second = mw_harden_load(first + step), third = mw_harden_load(first + 2 * step);
	return MW_LIKELY(
		((mw_harden_load(first) ^ canary) | (second ^ canary) | (third ^ canary)) == 0);
}

/* Overwrites the last 16 bytes of a sealed block that becomes free: a block freed twice has no
 * seal. */
MW_ALWAYS_INLINE void mw_harden_unseal(char *block, size_t capacity) {
	mw_harden_store_fill(block + capacity - 16);
}

/* Fills a sealed tiny block that becomes free, before it is linked. */
MW_ALWAYS_INLINE void mw_harden_fill_tiny(char *block, size_t capacity) {
	mw_harden_fill(block, capacity);
	if (MW_UNLIKELY(capacity > MW_HARDEN_WIPED_BYTES))
		mw_harden_unseal(block, capacity);
}

/* Above tiny, a block with so many bytes behind the requested ones holds four canaries, and with 8
 * bytes less three. */
#define MW_HARDEN_MORE_SLACK 32u

/* Above tiny, a block's last word is often far behind the requested bytes: a cache miss more, and
 * memory touched for nothing.  There the seal stands right behind the requested bytes.  The rest of
 * the block, its slack, and 1 more, is noted in a table in the chunk's metadata
 * (MW_SLACK_TABLE_OFFSET).  0: no block was ever handed out there. */
static inline uint16_t *mw_slack_in(uintptr_t chunk, const void *block) {
	uintptr_t offset = (uintptr_t)block & (MW_CHUNK_BYTES - 1);
	return (uint16_t *)(chunk + MW_SLACK_TABLE_OFFSET) + offset / 1024;
}

static inline uint16_t *mw_slack_of(const void *block) {
	return mw_slack_in(mw_fast_place_of(block).chunk, block);
}

/* Returns the bytes that the program requested by the number in the table.  MW_NO_CLAIM: there is
 * no block.  The capacity may be 0: in a child of fork() a list of a thread that is no more may lie
 * where the new thread's lists are. */
MW_ALWAYS_INLINE size_t mw_harden_asked_bytes(uint16_t noted, size_t capacity) {
	size_t bytes = mw_harden_requested(capacity) + 1 - noted;
	return MW_UNLIKELY(noted == 0) || MW_UNLIKELY(bytes > MW_SMALL_MAX_BYTES) ? MW_NO_CLAIM
										  : bytes;
}

/* Blocks above tiny with at least 8 bytes less than MW_HARDEN_MORE_SLACK hold the seal three times
 * in a row, the others four times.  They also hold it in their last word, for underruns of the next
 * block, if that word is in the same kernel page: no further page is touched. */
static inline bool mw_harden_ends_in_page(const char *behind, const char *last) {
	return ((uintptr_t)behind ^ (uintptr_t)last) < MW_OS_PAGE_BYTES;
}

/* Returns the place of the last of these canaries.  None reaches into `last`, which differs where
 * both overlap. */
MW_ALWAYS_INLINE size_t mw_harden_last_canary(const char *behind, const char *last) {
	return behind + MW_HARDEN_MORE_SLACK <= last ? MW_HARDEN_MORE_SLACK - 8
						     : MW_HARDEN_MORE_SLACK - 16;
}

/* `behind`: where the requested bytes end; `last`: the block's last word. */
MW_ALWAYS_INLINE void mw_harden_seal_at(char *behind, char *last, uint64_t seal) {
	mw_harden_store(behind, seal);
	if (behind + MW_HARDEN_MORE_SLACK - 8 > last)
		return;
	mw_harden_store(behind + 8, seal);
	mw_harden_store(behind + 16, seal);
	mw_harden_store(behind + mw_harden_last_canary(behind, last), seal);
	if (mw_harden_ends_in_page(behind, last))
		mw_harden_store(last, seal);
}

MW_ALWAYS_INLINE bool mw_harden_is_sealed_at(const char *behind, const char *last, uint64_t seal) {
	uint64_t changed = mw_harden_load(behind) ^ seal;
	if (behind + MW_HARDEN_MORE_SLACK - 8 > last)
		return changed == 0;
	changed |= (mw_harden_load(behind + 8) ^ seal) | (mw_harden_load(behind + 16) ^ seal) |
		   (mw_harden_load(behind + mw_harden_last_canary(behind, last)) ^ seal);
	if (mw_harden_ends_in_page(behind, last))
		changed |= mw_harden_load(last) ^ seal;
	return changed == 0;
}

MW_ALWAYS_INLINE void mw_harden_seal_slack(char *block, size_t capacity, size_t bytes,
					   uint64_t canary) {
	uint64_t seal = mw_harden_seal_for(bytes, canary);
	*mw_slack_of(block) = (uint16_t)(mw_harden_requested(capacity) + 1 - bytes);
	mw_harden_seal_at(block + bytes, block + capacity - sizeof seal, seal);
}

/* Returns the bytes that the program requested of a live block of a tiny class; MW_NO_CLAIM: seal
 * or canary are not right.
 *
 * Whether the address is the start of a block is not computed: at any other address the seal is
 * right once in 2^50.  The memory behind a wild pointer can be read: the guard at a chunk's end
 * begins a page late for this. */
MW_ALWAYS_INLINE size_t mw_harden_live_tiny(const char *block, size_t capacity, uint64_t canary) {
	uint64_t seal = mw_harden_seal_of(block, capacity);
	uint64_t bytes = mw_harden_sealed_bytes(seal, canary);
	if (MW_UNLIKELY(bytes > capacity) ||
	    MW_UNLIKELY(!mw_harden_is_sealed(block, capacity, bytes, seal)))
		return MW_NO_CLAIM;
	return bytes;
}

/* Checks the seal of a block above tiny, as mw_harden_live_tiny() does for tiny ones.  Reads
 * nothing behind the last blocks of `chunk`, which mw_fast_place() found, and follows no word that
 * is no address. */
MW_ALWAYS_INLINE size_t mw_harden_live_above_tiny(const char *block, uintptr_t chunk,
						  size_t capacity, uint64_t canary) {
	size_t bytes = mw_harden_asked_bytes(*mw_slack_in(chunk, block), capacity);
	size_t end = (uintptr_t)block - chunk + bytes;
	uint64_t seal = mw_harden_seal_for(bytes, canary);
	if (MW_UNLIKELY(bytes == MW_NO_CLAIM) ||
	    MW_UNLIKELY(end >= MW_CHUNK_BYTES - MW_SLICE_BYTES))
		return MW_NO_CLAIM;
	return MW_LIKELY(
		       mw_harden_is_sealed_at(block + bytes, block + capacity - sizeof seal, seal))
		       ? bytes
		       : MW_NO_CLAIM;
}

MW_ALWAYS_INLINE bool mw_harden_claims_hold(const char *block, size_t asked_bytes, size_t bytes,
					    size_t align) {
	return MW_LIKELY(bytes == MW_NO_CLAIM || bytes == asked_bytes) &&
	       MW_LIKELY(align == MW_NO_CLAIM || !((uintptr_t)block & (align - 1)));
}

#endif

#endif
