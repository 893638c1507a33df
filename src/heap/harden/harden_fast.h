/* SPDX-License-Identifier: MIT
 * harden_fast.h -- malloc() and free() of tiny blocks in the hardened library, and what is written
 * into blocks (harden.h says when).  Layer: heap.  Without MW_HARDENED nothing of it is called.
 *
 * What stands here ends no program: where a word is not as it must be, the caller takes the slow
 * path, which looks again in the order of the messages. */
#ifndef MW_HEAP_HARDEN_FAST_H
#define MW_HEAP_HARDEN_FAST_H

#include "heap/core/fast.h"
#include "heap/harden/harden.h"
#include "heap/layout/harden_block.h"
#include "heap/misuse/misuse.h"
#include "os/memory/map.h"

#ifdef MW_HARDENED

/* What is written at a block follows from its mixed address, computed once a call. */
static inline uint64_t mw_harden_canary(uint64_t mix) {
	return mix ^ mw_harden_keys.canary;
}

/* Of a free block, link, tag and fill at once.  `word` is its first, and the key is that of the tag
 * with the fill of an untouched block. */
MW_ALWAYS_INLINE bool mw_harden_is_fresh(const char *block, uint64_t word, uint64_t mix) {
	uint64_t fill = mw_harden_fold(mw_harden_load(block + 16), mw_harden_load(block + 24));
	return (fill ^ mw_harden_keys.fresh ^ word) + mix == mw_harden_load(block + sizeof word);
}

/* The seal of a block of which so many bytes were asked for.  Canaries are odd, the number takes
 * the bits above the lowest three: the first byte of a seal is never 0, so that the commonest
 * overrun, a string's end, shows.  What is written over that byte makes the number one that cannot
 * be with 7 of 8 values, 0 among them; else another, behind which no canary stands. */
#define MW_HARDEN_SIZE_SHIFT 3u
static inline uint64_t mw_harden_seal_for(size_t bytes, uint64_t canary) {
	return canary ^ (uint64_t)bytes << MW_HARDEN_SIZE_SHIFT;
}

/* The bytes that the seal says were asked for; more than fit: it is none. */
static inline uint64_t mw_harden_sealed_bytes(uint64_t seal, uint64_t canary) {
	uint64_t bytes = seal ^ canary;
	return bytes >> MW_HARDEN_SIZE_SHIFT | bytes << (64 - MW_HARDEN_SIZE_SHIFT);
}

/* The word behind what was asked for, `bits`, of a sealed block, of which the seal is the last
 * word: the seal turned so that where the two overlap they are the same.  They are `capacity - 8 -
 * bytes` apart, of which only the lowest three bits count, and capacities are multiples of 16. */
static inline uint64_t mw_harden_behind(uint64_t seal, uint64_t bits) {
	/* The empty statement keeps the compiler from masking what a rotation masks itself. */
	__asm__("" : "+r"(bits));
	return seal >> bits % 64 | seal << -bits % 64;
}

/* Canary and size of a tiny or large block that becomes the program's. */
MW_ALWAYS_INLINE void mw_harden_seal(char *block, size_t capacity, size_t bytes, uint64_t canary) {
	uint64_t bits = (uint64_t)bytes << MW_HARDEN_SIZE_SHIFT;
	/* Not computed twice. */
	__asm__("" : "+r"(bits));
	uint64_t seal = canary ^ bits;
	mw_harden_store(block + bytes, mw_harden_behind(seal, bits));
	mw_harden_store(block + capacity - sizeof(uint64_t), seal);
}

static inline uint64_t mw_harden_seal_of(const char *block, size_t capacity) {
	return mw_harden_load(block + capacity - sizeof(uint64_t));
}

/* Of a block with a seal that is right: whether what is behind its `bytes` is. */
static inline bool mw_harden_is_sealed(const char *block, size_t bytes, uint64_t seal) {
	return mw_harden_load(block + bytes) ==
	       mw_harden_behind(seal, (uint64_t)bytes << MW_HARDEN_SIZE_SHIFT);
}

/* The last 16 bytes of a sealed block that becomes free: what is freed twice has no seal. */
MW_ALWAYS_INLINE void mw_harden_unseal(char *block, size_t capacity) {
	mw_harden_store_fill(block + capacity - 16);
}

/* Above tiny, a block's last word is often far behind what was asked for: a cache miss more, and
 * memory touched for nothing.  There the seal stands behind what was asked for, and how much of the
 * block that leaves over in a table in the chunk's metadata (MW_SLACK_TABLE_OFFSET). */
static inline uint16_t *mw_slack_in(uintptr_t chunk, const void *block) {
	uintptr_t offset = (uintptr_t)block & (MW_CHUNK_BYTES - 1);
	return (uint16_t *)(chunk + MW_SLACK_TABLE_OFFSET) + offset / 1024;
}

static inline uint16_t *mw_slack_of(const void *block) {
	return mw_slack_in(mw_fast_place_of(block).chunk, block);
}

/* Blocks above tiny that leave over so much hold the seal three times in a row, so that an overrun
 * that skips the first word shows.  They hold it in their last word, too, for underruns of the
 * block behind, where that is in the same kernel page: nothing is touched that was not. */
#define MW_HARDEN_MORE_SLACK 24u
static inline bool mw_harden_ends_in_page(const char *behind, const char *last) {
	return ((uintptr_t)behind ^ (uintptr_t)last) < MW_OS_PAGE_BYTES;
}

MW_ALWAYS_INLINE void mw_harden_seal_more(char *behind, char *last, uint64_t seal) {
	mw_harden_store(behind + 8, seal);
	mw_harden_store(behind + 16, seal);
	if (mw_harden_ends_in_page(behind, last))
		mw_harden_store(last, seal);
}

MW_ALWAYS_INLINE bool mw_harden_is_sealed_more(const char *behind, const char *last,
					       uint64_t seal) {
	uint64_t changed =
		(mw_harden_load(behind + 8) ^ seal) | (mw_harden_load(behind + 16) ^ seal);
	if (mw_harden_ends_in_page(behind, last))
		changed |= mw_harden_load(last) ^ seal;
	return changed == 0;
}

MW_ALWAYS_INLINE void mw_harden_seal_slack(char *block, size_t capacity, size_t bytes,
					   uint64_t canary) {
	size_t slack = mw_harden_requested(capacity) - bytes;
	uint64_t seal = mw_harden_seal_for(bytes, canary);
	*mw_slack_of(block) = (uint16_t)slack;
	mw_harden_store(block + bytes, seal);
	if (slack >= MW_HARDEN_MORE_SLACK)
		mw_harden_seal_more(block + bytes, block + capacity - sizeof seal, seal);
}

/* The bytes that were asked for of what may be a live block of a tiny class, if seal and canary are
 * right; else MW_NO_CLAIM.
 *
 * That the address is a block's start is not computed: at any other the seal is right once in
 * 2^50.  What lies behind a wild pointer can be read: the guard at a chunk's end begins a page late
 * for this. */
MW_ALWAYS_INLINE size_t mw_harden_live_tiny(const char *block, size_t capacity, uint64_t canary) {
	uint64_t seal = mw_harden_seal_of(block, capacity);
	uint64_t bytes = mw_harden_sealed_bytes(seal, canary);
	if (MW_UNLIKELY(bytes > capacity) || MW_UNLIKELY(!mw_harden_is_sealed(block, bytes, seal)))
		return MW_NO_CLAIM;
	return bytes;
}

/* The same above tiny.  It is looked that nothing behind the last blocks of `chunk`, which
 * mw_fast_place() found, is read, nor what a word leads to that is no address. */
MW_ALWAYS_INLINE size_t mw_harden_live_stack(const char *block, uintptr_t chunk, size_t capacity,
					     uint64_t canary) {
	size_t slack = *mw_slack_in(chunk, block), bytes = mw_harden_requested(capacity) - slack;
	size_t end = (uintptr_t)block - chunk + bytes;
	uint64_t seal = mw_harden_seal_for(bytes, canary);
	if (MW_UNLIKELY(bytes > capacity) || MW_UNLIKELY(end >= MW_CHUNK_BYTES - MW_SLICE_BYTES) ||
	    MW_UNLIKELY(mw_harden_load(block + bytes) != seal))
		return MW_NO_CLAIM;
	if (slack >= MW_HARDEN_MORE_SLACK &&
	    MW_UNLIKELY(
		    !mw_harden_is_sealed_more(block + bytes, block + capacity - sizeof seal, seal)))
		return MW_NO_CLAIM;
	return bytes;
}

MW_ALWAYS_INLINE bool mw_harden_claims_hold(const char *block, size_t asked_bytes, size_t bytes,
					    size_t align) {
	return MW_LIKELY(bytes == MW_NO_CLAIM || bytes == asked_bytes) &&
	       MW_LIKELY(align == MW_NO_CLAIM || !((uintptr_t)block & (align - 1)));
}

/* A place of a part of the quarantine.  The lowest n bits of the generator's state take all 2^n
 * values in turn (Knuth, "Seminumerical Algorithms", theorem 3.2.1.2 A): they are the group.  The
 * highest n bits are the place in the group. */
MW_ALWAYS_INLINE uint32_t mw_harden_next_place(uint32_t *state, unsigned bits) {
	uint32_t next = mw_harden_next(state);
	return (next << bits | next >> (32 - bits)) & ((1u << 2 * bits) - 1);
}

/* Puts the block into a random place of those for its size, so that nobody can tell when it will
 * come back; returns what lay there, or NULL. */
MW_ALWAYS_INLINE void *mw_harden_swap(mw_harden_thread_t *thread, void *block, size_t capacity) {
	void **place = thread->quarantine;
	if (capacity <= MW_TINY_MAX_BYTES)
		place += mw_harden_next_place(&thread->short_place, MW_QUARANTINE_SHORT_BITS);
	else if (capacity <= MW_QUARANTINE_SMALL_BYTES)
		place += MW_QUARANTINE_SHORT +
			 mw_harden_next_place(&thread->small_place, MW_QUARANTINE_SMALL_BITS);
	else
		place += MW_QUARANTINE_SHORT + MW_QUARANTINE_SMALL +
			 mw_harden_next_place(&thread->medium_place, MW_QUARANTINE_MEDIUM_BITS);
	void *displaced = *place;
	*place = block;
	return displaced;
}

/* Onto the list of its tiny page, as mw_fast_put(). */
MW_ALWAYS_INLINE void mw_harden_push(mw_page_t *page, void *block, uint64_t mix) {
	mw_harden_link(block, page->free, mix);
	page->free = block;
	if (MW_UNLIKELY(--page->used == 0))
		mw_heap_page_emptied(page);
}

/* Onto a list head above tiny.  That the block is not its first already, its seal told. */
MW_ALWAYS_INLINE void mw_harden_push_stack(mw_list_t *stack, void *block, uint64_t mix) {
	mw_harden_link(block, stack->first, mix);
	stack->first = block;
	if (MW_UNLIKELY(mw_fast_count_push(stack)))
		mw_heap_free_last(block, stack);
}

/* Of a block that leaves the quarantine.  Its seal was looked at when it went in; its link, to
 * nothing, and tag are looked at before they are written over. */
MW_ALWAYS_INLINE void mw_harden_release(void *block) {
	if (MW_UNLIKELY(!block))
		return;
	const uint64_t *words = block;
	uint64_t mix = mw_harden_mix(block);
	if (MW_UNLIKELY(words[0] != mix) || MW_UNLIKELY(words[1] != mw_harden_tag(mix, mix)))
		mw_harden_bad_link(block);
	mw_place_in_chunk_t place = mw_fast_place_of(block);
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	uintptr_t owner = atomic_load_explicit(&mw_fast_entry(place)->owner, memory_order_relaxed);
	if (MW_LIKELY(owner == (self | MW_OWNER_STACK)))
		mw_harden_push_stack(mw_fast_list(place), block, mix);
	else if (owner == self)
		mw_harden_push(mw_fast_page(place), block, mix);
	else if (!mw_fast_free_remote(place, block))
		mw_heap_free_slow(block);
}

/* A tiny block that is free, and whose link was looked at, as the program gets it. */
MW_ALWAYS_INLINE void *mw_harden_give_tiny(char *block, size_t bytes) {
	if (MW_UNLIKELY(!mw_harden_is_untouched(block)))
		mw_harden_bad_link(block);
	mw_harden_store_fill(block);
	mw_harden_seal(block, mw_class_bytes[mw_class_of_tiny[mw_harden_room(bytes)]], bytes,
		       mw_harden_canary(mw_harden_mix(block)));
	return block;
}

/* A block of a list head; NULL: the list is empty, or the block was written to. */
MW_ALWAYS_INLINE void *mw_harden_pop_tiny(unsigned size_class, size_t bytes) {
	void **head = &mw_thread.heads[size_class];
	char *block = *head;
	if (MW_UNLIKELY(!block))
		return NULL;
	size_t capacity = mw_class_bytes[size_class];
	uint64_t mix = mw_harden_mix(block), word = mw_harden_load(block);
	if (MW_UNLIKELY(!mw_harden_is_fresh(block, word, mix)))
		return NULL;
	void *next = (void *)(word ^ mix);
	*head = next;
	/* As in mw_fast_pop().  Not where its seal will stand: that costs a queue of more blocks
	 * than the cache holds 0.1 of the plain library's time, and gains nothing elsewhere. */
	__builtin_prefetch(next);
	/* Neither link nor tag is the program's to see, and the tag must not be taken for one. */
	mw_harden_store_fill(block);
	mw_harden_seal(block, capacity, bytes, mw_harden_canary(mix));
	return block;
}

/* The same above tiny; NULL also when the object is to be sampled, see mw_fast_pop_stack(). */
MW_ALWAYS_INLINE void *mw_harden_pop_stack(unsigned size_class, size_t bytes) {
	mw_list_t *stack = mw_stack_of(size_class);
	char *block = stack->first;
	if (MW_UNLIKELY(!block))
		return NULL;
	uint64_t mix = mw_harden_mix(block), word = mw_harden_load(block);
	if (MW_UNLIKELY(!mw_harden_is_fresh(block, word, mix)) ||
	    MW_UNLIKELY(--mw_thread.until_sample[size_class - MW_TINY_CLASSES] == 0))
		return NULL;
	stack->first = (void *)(word ^ mix);
	stack->left++;
	mw_harden_store_fill(block);
	mw_harden_seal_slack(block, mw_class_bytes[size_class], bytes, mw_harden_canary(mix));
	return block;
}

/* free() of a block that is none of the thread's own tiny ones: of the chunk at this place. */
void mw_harden_free_diverted(char *block, mw_place_in_chunk_t place);
/* Of what is no block of a chunk, or not as it must be. */
void mw_harden_free_outside(char *block);

/* malloc() of a tiny size; NULL: the list is empty, the size larger, or the block was written to.
 */
MW_ALWAYS_INLINE void *mw_harden_alloc_tiny(size_t bytes) {
	if (MW_UNLIKELY(bytes > mw_harden_requested(MW_TINY_MAX_BYTES)))
		return NULL;
	return mw_harden_pop_tiny(mw_class_of_tiny[mw_harden_room(bytes)], bytes);
}

/* mw_heap_alloc_at_once() */
MW_ALWAYS_INLINE void *mw_harden_alloc_at_once(size_t bytes) {
	if (MW_UNLIKELY(bytes > mw_harden_requested(MW_TINY_MAX_BYTES)) ||
	    MW_UNLIKELY(mw_harden_is_whole))
		return NULL;
	char *block = mw_heap_alloc_at_once(mw_harden_room(bytes));
	return MW_LIKELY(block != NULL) ? mw_harden_give_tiny(block, bytes) : NULL;
}

/* malloc() of the other small sizes. */
MW_ALWAYS_INLINE void *mw_harden_alloc_stack(size_t bytes) {
	if (MW_UNLIKELY(bytes - mw_harden_requested(MW_TINY_MAX_BYTES) - 1 >=
			MW_SMALL_MAX_BYTES - MW_TINY_MAX_BYTES))
		return NULL;
	return mw_harden_pop_stack(mw_class_computed(mw_harden_room(bytes)), bytes);
}

/* mw_fast_alloc_aligned() */
MW_ALWAYS_INLINE void *mw_harden_alloc_aligned(size_t align, size_t bytes) {
	if (MW_UNLIKELY(bytes > MW_SMALL_MAX_BYTES || align > MW_SMALL_MAX_BYTES))
		return NULL;
	size_t rounded = (mw_harden_room(bytes) + align - 1) & -align;
	if (MW_UNLIKELY(rounded > MW_SMALL_MAX_BYTES))
		return NULL;
	unsigned size_class = mw_class_of(rounded);
	if (MW_UNLIKELY((mw_class_bytes[size_class] & (align - 1)) != 0))
		return NULL;
	return MW_LIKELY(rounded <= MW_TINY_MAX_BYTES) ? mw_harden_pop_tiny(size_class, bytes)
						       : mw_harden_pop_stack(size_class, bytes);
}

/* free() of a tiny block of the thread's own page.  False: something is wrong; nothing was done.
 * Straight into its page's list: what is freed there waits as long as in the quarantine, see
 * mw_harden_hold_back(). */
MW_ALWAYS_INLINE bool mw_harden_free_own(mw_page_t *page, char *block, size_t bytes, size_t align) {
	size_t capacity = page->tiny_bytes;
	uint64_t mix = mw_harden_mix(block);
	size_t asked_bytes = mw_harden_live_tiny(block, capacity, mw_harden_canary(mix));
	if (MW_UNLIKELY(asked_bytes == MW_NO_CLAIM) ||
	    MW_UNLIKELY(!mw_harden_claims_hold(block, asked_bytes, bytes, align)))
		return false;
	mw_harden_fill(block);
	mw_harden_unseal(block, capacity);
	mw_harden_push(page, block, mix);
	return true;
}

/* The functions that say what they free, or are not free() (MW_NO_CLAIM: they do not say). */
MW_ALWAYS_INLINE void mw_harden_free_claimed(const char *function, char *block, size_t bytes,
					     size_t align) {
	mw_place_in_chunk_t place;
	if (MW_UNLIKELY(!mw_fast_place(block, &place)) ||
	    MW_UNLIKELY(!mw_fast_is_own(mw_fast_entry(place))) ||
	    MW_UNLIKELY(!mw_harden_free_own(mw_fast_page(place), block, bytes, align)))
		mw_harden_free_rest(function, block, bytes, align);
}

MW_ALWAYS_INLINE void mw_harden_free(char *block) {
	mw_place_in_chunk_t place;
	bool in_chunk = mw_fast_place(block, &place);
	if (MW_LIKELY(in_chunk) && MW_UNLIKELY(!mw_fast_is_own(mw_fast_entry(place))))
		mw_harden_free_diverted(block, place);
	else if (MW_UNLIKELY(!in_chunk) ||
		 MW_UNLIKELY(
			 !mw_harden_free_own(mw_fast_page(place), block, MW_NO_CLAIM, MW_NO_CLAIM)))
		mw_harden_free_outside(block);
}

/* realloc() of an ordinary block that stays; NULL: it does not, or is none, or something is wrong.
 */
MW_ALWAYS_INLINE void *mw_harden_resize_in_place(char *block, size_t bytes) {
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) != MW_MAP_CHUNK))
		return NULL;
	/* A chunk's own record is no page: its kind reads as none. */
	const mw_page_t *page = mw_page_of_slice((uintptr_t)block);
	size_t capacity = page->block_bytes;
	if (MW_UNLIKELY(page->kind != MW_PAGE_SMALL) ||
	    !mw_fast_keeps(capacity, mw_harden_room(bytes)))
		return NULL;
	uint64_t canary = mw_harden_canary(mw_harden_mix(block));
	if (MW_LIKELY(capacity <= MW_TINY_MAX_BYTES)) {
		if (MW_UNLIKELY(mw_harden_live_tiny(block, capacity, canary) == MW_NO_CLAIM))
			return NULL;
		mw_harden_seal(block, capacity, bytes, canary);
	} else {
		uintptr_t chunk = mw_fast_place_of(block).chunk;
		if (MW_UNLIKELY(mw_harden_live_stack(block, chunk, capacity, canary) ==
				MW_NO_CLAIM))
			return NULL;
		mw_harden_seal_slack(block, capacity, bytes, canary);
	}
	return block;
}

#else

MW_ALWAYS_INLINE void *mw_harden_alloc_tiny(size_t bytes) {
	(void)bytes;
	return NULL;
}

MW_ALWAYS_INLINE void *mw_harden_alloc_stack(size_t bytes) {
	(void)bytes;
	return NULL;
}

MW_ALWAYS_INLINE void *mw_harden_alloc_at_once(size_t bytes) {
	return mw_heap_alloc_at_once(bytes);
}

MW_ALWAYS_INLINE void *mw_harden_alloc_aligned(size_t align, size_t bytes) {
	(void)align, (void)bytes;
	return NULL;
}

MW_ALWAYS_INLINE void mw_harden_free_claimed(const char *function, char *block, size_t bytes,
					     size_t align) {
	(void)function, (void)block, (void)bytes, (void)align;
}

MW_ALWAYS_INLINE void mw_harden_free(char *block) {
	(void)block;
}

MW_ALWAYS_INLINE void *mw_harden_resize_in_place(char *block, size_t bytes) {
	(void)block, (void)bytes;
	return NULL;
}

#endif

#endif
