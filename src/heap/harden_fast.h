/* SPDX-License-Identifier: MIT
 * harden_fast.h -- malloc() and free() of tiny blocks in the hardened library, and what is written
 * into blocks (harden.h says when).  Layer: heap.  Without MW_HARDENED nothing of it is called.
 *
 * What stands here ends no program: where a word is not as it must be, the caller takes the slow
 * path, which looks again in the order of the messages. */
#ifndef MW_HEAP_HARDEN_FAST_H
#define MW_HEAP_HARDEN_FAST_H

#include "heap/fast.h"

#ifdef MW_HARDENED

/* Read as a pointer it is no address of a program, so what follows a stale one ends there. */
#define MW_HARDEN_FILL UINT64_C(0xdfdfdfdfdfdfdfdf)
/* Low bits of the last word that hold no size: any write to its first two bytes shows. */
#define MW_HARDEN_SIZE_SHIFT 16u

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

/* What is written at a block follows from its mixed address, computed once a call.  Odd: the first
 * byte is not 0, so that the commonest overrun, a string's end, shows. */
static inline uint64_t mw_harden_canary(uint64_t mix) {
	return mix ^ mw_harden_keys.canary;
}

/* Of a block that becomes free, before it is linked: its second 16 bytes.  More would cost a cache
 * miss a line. */
MW_ALWAYS_INLINE void mw_harden_fill(char *block) {
	const mw_harden_pair_t fill = {MW_HARDEN_FILL, MW_HARDEN_FILL};
	*(mw_harden_pair_t *)(void *)(block + sizeof fill) = fill;
}

/* Of a free block whose link is right: whether nobody wrote to the rest. */
MW_ALWAYS_INLINE bool mw_harden_is_untouched(const char *block) {
	return mw_harden_load(block + 16) == MW_HARDEN_FILL &&
	       mw_harden_load(block + 24) == MW_HARDEN_FILL;
}

/* The word behind `bytes` of a sealed block, of which the seal is the last word: the seal turned so
 * that where the two overlap they are the same.  They are `capacity - 8 - bytes` apart, of which
 * only the lowest three bits count, and capacities are multiples of 16. */
static inline uint64_t mw_harden_behind(uint64_t seal, size_t bytes) {
	unsigned bits = 8 * (unsigned)bytes;
	/* The empty statement keeps the compiler from masking what a rotation masks itself. */
	__asm__("" : "+r"(bits));
	return seal >> bits % 64 | seal << -bits % 64;
}

/* Canary and size of a block that becomes the program's. */
MW_ALWAYS_INLINE void mw_harden_seal(char *block, size_t capacity, size_t bytes, uint64_t canary) {
	uint64_t seal = canary ^ (uint64_t)bytes << MW_HARDEN_SIZE_SHIFT;
	mw_harden_store(block + bytes, mw_harden_behind(seal, bytes));
	mw_harden_store(block + capacity - sizeof(uint64_t), seal);
}

/* The last 16 bytes of a sealed block that becomes free: what is freed twice has no seal. */
MW_ALWAYS_INLINE void mw_harden_unseal(char *block, size_t capacity) {
	const mw_harden_pair_t fill = {MW_HARDEN_FILL, MW_HARDEN_FILL};
	*(mw_harden_pair_t *)(void *)(block + capacity - sizeof fill) = fill;
}

static inline uint64_t mw_harden_seal_of(const char *block, size_t capacity) {
	return mw_harden_load(block + capacity - sizeof(uint64_t));
}

/* The bytes that the seal says were asked for; more than fit: it is none.  The low bits, 0 in a
 * seal, become the highest ones. */
static inline uint64_t mw_harden_sealed_bytes(uint64_t seal, uint64_t canary) {
	uint64_t bytes = seal ^ canary;
	return bytes >> MW_HARDEN_SIZE_SHIFT | bytes << (64 - MW_HARDEN_SIZE_SHIFT);
}

/* Of a block with a seal that is right: whether what is behind its `bytes` is. */
static inline bool mw_harden_is_sealed(const char *block, size_t bytes, uint64_t seal) {
	return mw_harden_load(block + bytes) == mw_harden_behind(seal, bytes);
}

/* Puts the block into a random place of those for its size, so that nobody can tell when it will
 * come back; returns what lay there, or NULL.  A linear congruential generator (Numerical Recipes'
 * constants) whose state starts as a secret: its upper bits are enough here, and it is two
 * instructions. */
MW_ALWAYS_INLINE void *mw_harden_swap(mw_harden_thread_t *thread, void *block, size_t capacity) {
	uint32_t first = 0, places = MW_QUARANTINE_SHORT;
	if (MW_UNLIKELY(capacity > MW_TINY_MAX_BYTES)) {
		bool small = capacity <= MW_QUARANTINE_SMALL_BYTES;
		first = MW_QUARANTINE_SHORT + (small ? 0 : MW_QUARANTINE_SMALL);
		places = small ? MW_QUARANTINE_SMALL : MW_QUARANTINE_MEDIUM;
	}
	thread->place = thread->place * 1664525u + 1013904223u;
	void **place = &thread->quarantine[first + (thread->place >> 26 & (places - 1))];
	void *displaced = *place;
	*place = block;
	return displaced;
}

/* What the quarantine gave back was looked at when it went in. */
MW_ALWAYS_INLINE void mw_harden_release(void *block) {
	if (MW_UNLIKELY(!block))
		return;
	mw_page_t *page = mw_page_of_slice((uintptr_t)block);
	if (MW_UNLIKELY(!mw_fast_owns(page))) {
		mw_heap_free_slow(block);
		return;
	}
	mw_link_set(block, page->free);
	mw_fast_push(page, block);
}

/* malloc() of a tiny size; NULL: the list is empty, the size larger, or the block was written to.
 */
MW_ALWAYS_INLINE void *mw_harden_alloc_tiny(size_t bytes) {
	if (MW_UNLIKELY(bytes > MW_TINY_MAX_BYTES - sizeof(uint64_t)))
		return NULL;
	unsigned size_class = mw_class_of_tiny[mw_harden_room(bytes)];
	void **head = &mw_thread.heads[size_class];
	char *block = *head;
	if (MW_UNLIKELY(!block))
		return NULL;
	size_t capacity = mw_class_bytes[size_class];
	uint64_t mix = mw_harden_mix(block), word = mw_harden_load(block);
	uint64_t second = word ^ mw_harden_tag(mix);
	/* Else the compiler loads the second word early, and saves a register for it. */
	__asm__("" : "+r"(second));
	if (MW_UNLIKELY(second != mw_harden_load(block + sizeof word)) ||
	    MW_UNLIKELY(!mw_harden_is_untouched(block)))
		return NULL;
	void *next = (void *)(word ^ mix);
	*head = next;
	/* As in mw_fast_pop(); and where its seal will stand. */
	__builtin_prefetch(next);
	__builtin_prefetch((void *)((uintptr_t)next + capacity - sizeof word), 1);
	/* Neither link nor tag is the program's to see, and the tag must not be taken for one. */
	*(mw_harden_pair_t *)(void *)block = (mw_harden_pair_t){MW_HARDEN_FILL, MW_HARDEN_FILL};
	mw_harden_seal(block, capacity, bytes, mw_harden_canary(mix));
	return block;
}

/* free() of a tiny block of the thread's own.  False: it is none, or something is wrong; nothing
 * was done.
 *
 * That the address is a block's start is not computed: at any other the last word is right once in
 * 2^50.  What lies behind a wild pointer can be read: the guard at a chunk's end begins a page late
 * for this.  Straight into its page's list: what is freed there waits as long as in the
 * quarantine, see mw_harden_hold_back(). */
MW_ALWAYS_INLINE bool mw_harden_free_block(char *block, size_t bytes, size_t align) {
	mw_page_t *page;
	if (MW_UNLIKELY(!mw_fast_own_page(block, &page)))
		return false;
	size_t capacity = page->block_bytes;
	uint64_t mix = mw_harden_mix(block), seal = mw_harden_seal_of(block, capacity);
	uint64_t asked_bytes = mw_harden_sealed_bytes(seal, mw_harden_canary(mix));
	if (MW_UNLIKELY(asked_bytes > capacity) ||
	    MW_UNLIKELY(!mw_harden_is_sealed(block, asked_bytes, seal)))
		return false;
	if (MW_UNLIKELY(bytes != MW_NO_CLAIM && bytes != asked_bytes) ||
	    MW_UNLIKELY(align != MW_NO_CLAIM && (uintptr_t)block & (align - 1)))
		return false;
	mw_harden_fill(block);
	mw_harden_unseal(block, capacity);
	mw_harden_link(block, page->free, mix);
	mw_fast_push(page, block);
	return true;
}

#else

MW_ALWAYS_INLINE void *mw_harden_alloc_tiny(size_t bytes) {
	(void)bytes;
	return NULL;
}

MW_ALWAYS_INLINE bool mw_harden_free_block(char *block, size_t bytes, size_t align) {
	(void)block, (void)bytes, (void)align;
	return false;
}

#endif

#endif
