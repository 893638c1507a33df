/* SPDX-License-Identifier: MIT
 * link.h -- the link in the first word of a free block.
 * Layer: heap.  The hardened library encodes the link and puts a tag behind it; both are made of
 * the block's address and secrets of the process (heap/harden/harden.h). */
#ifndef MW_HEAP_LINK_H
#define MW_HEAP_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#ifdef MW_HARDENED

enum { MW_HARDEN_ON = 1 };

/* The secrets, drawn at the start of the process.  `address` and `multiplier` are odd, `canary` is
 * even.  Hidden: otherwise malloc() and free() each load the struct's address first, an instruction
 * more. */
typedef struct mw_harden_keys {
	_Alignas(MW_CACHE_LINE_BYTES) uint64_t address;
	uint64_t multiplier, tag, canary;
	uint64_t fresh; /* key of tag and fill together: see mw_harden_is_fresh() */
} mw_harden_keys_t;
extern __attribute__((visibility("hidden"))) mw_harden_keys_t mw_harden_keys;

/* Ends the program: link and tag of the free block do not belong together. */
MW_HOOK MW_COLD _Noreturn void mw_harden_bad_link(const void *block);

/* Mixes two secrets and the block's address.  The result is odd, as the multiplier is odd and no
 * block's address is. */
static inline uint64_t mw_harden_mix(const void *block) {
	return ((uintptr_t)block ^ mw_harden_keys.address) * mw_harden_keys.multiplier;
}

/* The tag, second word of a free block, for the link in `word`.  The tag is a sum and the link an
 * exclusive or, so that a change that both words have in common does not cancel out. */
static inline uint64_t mw_harden_tag(uint64_t word, uint64_t mix) {
	return (word ^ mw_harden_keys.tag) + mix;
}

/* Returns the next block of a list of free blocks.  Ends the program when link and tag do not
 * belong together, whatever was written over them. */
static inline void *mw_link_get(const void *block) {
	const uint64_t *words = block;
	uint64_t mix = mw_harden_mix(block);
	if (MW_UNLIKELY(words[1] != mw_harden_tag(words[0], mix)))
		mw_harden_bad_link(block);
	return (void *)(words[0] ^ mix);
}

/* Returns the next block, like mw_link_get(); NULL: link and tag do not belong together. */
static inline void *mw_link_peek(const void *block) {
	const uint64_t *words = block;
	uint64_t mix = mw_harden_mix(block);
	return words[1] == mw_harden_tag(words[0], mix) ? (void *)(words[0] ^ mix) : NULL;
}

static inline void mw_harden_link(void *block, const void *next, uint64_t mix) {
	uint64_t *words = block, word = (uintptr_t)next ^ mix;
	words[0] = word;
	words[1] = mw_harden_tag(word, mix);
}

static inline void mw_link_set(void *block, const void *next) {
	mw_harden_link(block, next, mw_harden_mix(block));
}

#else

enum { MW_HARDEN_ON = 0 };

static inline void *mw_link_get(const void *block) {
	return *(void *const *)block;
}

static inline void mw_link_set(void *block, void *next) {
	*(void **)block = next;
}

static inline void *mw_link_peek(const void *block) {
	return mw_link_get(block);
}

#endif

#endif
