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
/* Of a longer block the first bytes are filled and checked: that is where stale pointers to objects
 * lead, and each further line costs two cache misses. */
#define MW_HARDEN_FILL_BYTES 64u
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

/* What is written at a block follows from the same mixed address, computed once a call. */
static inline uint64_t mw_harden_tag(uint64_t mix) {
	return mix ^ mw_harden_keys.tag;
}

/* Its first byte is not 0: the commonest overrun, a string's end, always shows. */
static inline uint64_t mw_harden_canary(uint64_t mix) {
	return (mix ^ mw_harden_keys.canary) | 1;
}

/* The pair of words at this offset, or the block's last one, if that comes first.  Without a
 * branch, as sizes come in any order. */
MW_ALWAYS_INLINE mw_harden_pair_t *mw_harden_pair_at(const char *block, size_t capacity,
						     size_t offset) {
	size_t last = capacity - sizeof(mw_harden_pair_t);
	return (mw_harden_pair_t *)(uintptr_t)(block + (offset < last ? offset : last));
}

/* Of a block that becomes free.  The last word goes too: what is freed twice has no seal. */
MW_ALWAYS_INLINE void mw_harden_fill(char *block, size_t capacity, uint64_t tag) {
	const mw_harden_pair_t fill = {MW_HARDEN_FILL, MW_HARDEN_FILL};
	*mw_harden_pair_at(block, capacity, 16) = fill;
	*mw_harden_pair_at(block, capacity, 32) = fill;
	*mw_harden_pair_at(block, capacity, MW_HARDEN_FILL_BYTES - sizeof fill) = fill;
	mw_harden_store(block + capacity - sizeof(uint64_t), MW_HARDEN_FILL);
	mw_harden_store(block, MW_HARDEN_FILL);
	mw_harden_store(block + sizeof(uint64_t), tag);
}

/* Of a free block: whether nobody wrote to it. */
MW_ALWAYS_INLINE bool mw_harden_is_untouched(const char *block, size_t capacity, uint64_t tag) {
	const mw_harden_pair_t fill = {MW_HARDEN_FILL, MW_HARDEN_FILL};
	uint64_t found = mw_harden_load(block + sizeof(uint64_t));
	/* Never handed out, so never filled. */
	if (found != tag)
		return found == ~tag;
	if (MW_UNLIKELY(capacity == sizeof fill))
		return true;
	mw_harden_pair_t wrong =
		(*mw_harden_pair_at(block, capacity, 16) ^ fill) |
		(*mw_harden_pair_at(block, capacity, 32) ^ fill) |
		(*mw_harden_pair_at(block, capacity, MW_HARDEN_FILL_BYTES - sizeof fill) ^ fill);
	return (wrong[0] | wrong[1]) == 0;
}

/* Canary and size of a block that becomes the program's. */
MW_ALWAYS_INLINE void mw_harden_seal(char *block, size_t capacity, size_t bytes, uint64_t canary) {
	mw_harden_store(block + bytes, canary);
	mw_harden_store(block + capacity - sizeof(uint64_t),
			canary ^ (uint64_t)bytes << MW_HARDEN_SIZE_SHIFT);
}

/* The bytes that the last word says were asked for; more than fit: it is not what was sealed.  The
 * low bits, 0 in a seal, become the highest ones. */
MW_ALWAYS_INLINE uint64_t mw_harden_sealed_bytes(const char *block, size_t capacity,
						 uint64_t canary) {
	uint64_t last = mw_harden_load(block + capacity - sizeof(uint64_t)) ^ canary;
	return last >> MW_HARDEN_SIZE_SHIFT | last << (64 - MW_HARDEN_SIZE_SHIFT);
}

/* Of a block with a last word that is right: whether the canary is. */
MW_ALWAYS_INLINE bool mw_harden_is_sealed(const char *block, size_t capacity, size_t bytes,
					  uint64_t canary) {
	uint64_t wrong = mw_harden_load(block + bytes) ^ canary;
	/* What of the canary lies before the last word, moved up to the highest bits: without a
	 * branch, as sizes come in any order, and in two steps, as one may be 64 bits. */
	int64_t over = (int64_t)(capacity - bytes) - 2 * (int64_t)sizeof(uint64_t);
	uint64_t half_bits = (uint64_t)(-4 * over & over >> 63);
	return wrong << half_bits << half_bits == 0;
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
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	if (MW_UNLIKELY(atomic_load_explicit(&page->owner, memory_order_relaxed) != self)) {
		mw_heap_free_slow(block);
		return;
	}
	mw_link_set(block, page->free);
	page->free = block;
	if (MW_UNLIKELY(--page->used == 0))
		mw_heap_page_emptied(page);
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
	uint64_t mix = mw_harden_mix(block), next = mw_harden_load(block) ^ mix;
	if (MW_UNLIKELY(!mw_link_is_block(next)) ||
	    MW_UNLIKELY(!mw_harden_is_untouched(block, capacity, mw_harden_tag(mix))))
		return NULL;
	*head = (void *)next;
	__builtin_prefetch((void *)next); /* as in mw_fast_pop() */
	/* Neither link nor tag is the program's to see, and the tag must not be taken for one. */
	*(mw_harden_pair_t *)(void *)block = (mw_harden_pair_t){MW_HARDEN_FILL, MW_HARDEN_FILL};
	mw_harden_seal(block, capacity, bytes, mw_harden_canary(mix));
	return block;
}

/* free() of a block of a class.  False: it is none, or something is wrong; nothing was done.
 *
 * That the address is a block's start is not computed: at any other the last word is right once in
 * 2^50. */
MW_ALWAYS_INLINE bool mw_harden_free_block(char *block, size_t bytes, size_t align) {
	uintptr_t address = (uintptr_t)block;
	if (MW_UNLIKELY(mw_word_kind(address) != MW_MAP_CHUNK))
		return false;
	/* A chunk's own record is no page: its kind reads as none. */
	const mw_page_t *page = mw_page_of_slice(address);
	mw_heap_t *heap = mw_thread.heap;
	size_t capacity = page->block_bytes, most = capacity - sizeof(uint64_t);
	if (MW_UNLIKELY(page->kind != MW_PAGE_SMALL) || MW_UNLIKELY(capacity > MW_TINY_MAX_BYTES) ||
	    MW_UNLIKELY(!heap))
		return false;
	/* A wild pointer's: the next slice may be a guard. */
	if (MW_UNLIKELY((address ^ (address + capacity - 1)) >> MW_SLICE_SHIFT))
		return false;
	uint64_t mix = mw_harden_mix(block), canary = mw_harden_canary(mix);
	uint64_t asked_bytes = mw_harden_sealed_bytes(block, capacity, canary);
	if (MW_UNLIKELY(asked_bytes > most) ||
	    MW_UNLIKELY(!mw_harden_is_sealed(block, capacity, asked_bytes, canary)))
		return false;
	if (MW_UNLIKELY(bytes != MW_NO_CLAIM && bytes != asked_bytes) ||
	    MW_UNLIKELY(align != MW_NO_CLAIM && address & (align - 1)))
		return false;
	mw_harden_fill(block, capacity, mw_harden_tag(mix));
	mw_harden_release(mw_harden_swap(&heap->harden, block, capacity));
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
