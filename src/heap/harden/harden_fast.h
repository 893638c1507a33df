/* SPDX-License-Identifier: MIT
 * harden_fast.h -- the fast paths of malloc(), free() and realloc() in the hardened library.
 * Layer: heap.  Without MW_HARDENED none of them is called.  No function here ends the program: if
 * a word is wrong, the caller takes the slow path, which checks again in the order of the messages.
 */
#ifndef MW_HEAP_HARDEN_FAST_H
#define MW_HEAP_HARDEN_FAST_H

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/core/refill.h"
#include "heap/harden/harden.h"
#include "heap/harden/harden_seal.h"
#include "heap/layout/harden_block.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/misuse/misuse.h"
#include "heap/remote/ownership.h"

#ifdef MW_HARDENED

/* Draws a place in a part of the quarantine.  The lowest n bits of the generator's state take all
 * 2^n values in turn (Knuth, "Seminumerical Algorithms", theorem 3.2.1.2 A): they are the group.
 * The highest n bits are the place in the group. */
MW_ALWAYS_INLINE uint32_t mw_harden_next_place(uint32_t *state, unsigned bits) {
	uint32_t next = mw_harden_next(state);
	return (next << bits | next >> (32 - bits)) & ((1u << 2 * bits) - 1);
}

/* Puts the block into a random place for its size, so that the time of its next use cannot be
 * predicted.  Returns the block that lay in that place, or NULL. */
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

/* Pushes a block onto the list of its tiny page, as mw_fast_put(). */
MW_ALWAYS_INLINE void mw_harden_push(mw_page_t *page, void *block, uint64_t mix) {
	mw_harden_link(block, page->free, mix);
	page->free = block;
	if (MW_UNLIKELY(--page->used == 0))
		mw_heap_page_emptied(page);
}

/* Pushes a block onto a tcache list above tiny.  The seal has shown that the block is not the
 * list's first block already. */
MW_ALWAYS_INLINE void mw_harden_push_above_tiny(mw_list_t *list, void *block, uint64_t mix) {
	mw_harden_link(block, list->first, mix);
	list->first = block;
	if (MW_UNLIKELY(mw_fast_count_push(list)))
		mw_heap_free_last(block, list);
}

/* Frees a block that leaves the quarantine.  Its seal was checked when it entered the quarantine.
 * Its link, which leads to no block, and its tag are checked before they are overwritten. */
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
	if (MW_LIKELY(owner == (self | MW_OWNER_ABOVE_TINY)))
		mw_harden_push_above_tiny(mw_fast_list(place), block, mix);
	else if (owner == self)
		mw_harden_push(mw_fast_page(place), block, mix);
	else if (!mw_fast_free_remote(place, block))
		mw_heap_free_slow(block);
}

/* Seals a free tiny block whose link was checked, and returns the program's block. */
MW_ALWAYS_INLINE void *mw_harden_give_tiny(char *block, size_t bytes) {
	size_t capacity = mw_class_bytes[mw_class_of_tiny[mw_harden_room(bytes)]];
	if (MW_UNLIKELY(!mw_harden_is_untouched(block)) ||
	    MW_UNLIKELY(!mw_harden_is_wiped(block, capacity)))
		mw_harden_bad_link(block);
	mw_harden_store_fill(block);
	mw_harden_seal(block, capacity, bytes, mw_harden_canary(mw_harden_mix(block)));
	return block;
}

/* Pops a block of a tiny class; NULL: the list is empty, or the block was written to. */
MW_ALWAYS_INLINE void *mw_harden_pop_tiny(unsigned size_class, size_t bytes) {
	void **head = &mw_thread.tcache_tiny[size_class];
	char *block = *head;
	if (MW_UNLIKELY(!block))
		return NULL;
	size_t capacity = mw_class_bytes[size_class];
	uint64_t mix = mw_harden_mix(block), word = mw_harden_load(block);
	if (MW_UNLIKELY(!mw_harden_is_fresh(block, word, mix)) ||
	    MW_UNLIKELY(!mw_harden_is_wiped(block, capacity)))
		return NULL;
	void *next = (void *)(word ^ mix);
	*head = next;
	/* Fetches the next block into the cache, as mw_fast_pop() does, but not the line of its
	 * seal.  Fetching that line costs 0.1 of the plain library's time in a queue of more blocks
	 * than the cache holds, and gains nothing elsewhere. */
	__builtin_prefetch(next);
	/* The program must not see link and tag, and the tag must not be taken for one. */
	mw_harden_store_fill(block);
	mw_harden_seal(block, capacity, bytes, mw_harden_canary(mix));
	return block;
}

/* Pops a block of a class above tiny; NULL: the list is empty, or the object is to be sampled (see
 * mw_fast_pop_above_tiny()). */
MW_ALWAYS_INLINE void *mw_harden_pop_above_tiny(unsigned size_class, size_t bytes) {
	mw_list_t *list = mw_tcache_of(size_class);
	char *block = list->first;
	if (MW_UNLIKELY(!block))
		return NULL;
	uint64_t mix = mw_harden_mix(block), word = mw_harden_load(block);
	if (MW_UNLIKELY(!mw_harden_is_fresh(block, word, mix)) ||
	    MW_UNLIKELY(--mw_thread.until_sample[size_class - MW_TINY_CLASSES] == 0))
		return NULL;
	list->first = (void *)(word ^ mix);
	list->room++;
	mw_harden_store_fill(block);
	mw_harden_seal_slack(block, mw_class_bytes[size_class], bytes, mw_harden_canary(mix));
	return block;
}

/* free() of any block in the chunk at this place but tiny blocks of the thread's own pages. */
void mw_harden_free_diverted(char *block, mw_place_in_chunk_t place);
/* free() of a pointer outside of all chunks, or of a block with a wrong word. */
void mw_harden_free_outside(char *block);

/* malloc() of a tiny size; NULL: the list is empty, the size larger or 0, or the block was written
 * to. */
MW_ALWAYS_INLINE void *mw_harden_alloc_tiny(size_t bytes) {
	if (MW_UNLIKELY(bytes - 1 >= mw_harden_requested(MW_TINY_MAX_BYTES))) /* 0, too */
		return NULL;
	return mw_harden_pop_tiny(mw_class_of_tiny[mw_harden_room(bytes)], bytes);
}

/* Returns whether blocks of mw_harden_alloc_tiny() for so many bytes hold zeros only. */
MW_ALWAYS_INLINE bool mw_harden_gives_zeros(size_t bytes) {
	return bytes <= mw_harden_requested(MW_HARDEN_WIPED_BYTES);
}

/* mw_refill_at_once() with the block sealed. */
MW_ALWAYS_INLINE void *mw_harden_alloc_at_once(size_t bytes) {
	if (MW_UNLIKELY(bytes - 1 >= mw_harden_requested(MW_TINY_MAX_BYTES)) ||
	    MW_UNLIKELY(mw_harden_is_whole))
		return NULL;
	char *block = mw_refill_at_once(mw_harden_room(bytes));
	return MW_LIKELY(block != NULL) ? mw_harden_give_tiny(block, bytes) : NULL;
}

/* malloc() of the other small sizes. */
MW_ALWAYS_INLINE void *mw_harden_alloc_above_tiny(size_t bytes) {
	if (MW_UNLIKELY(bytes - mw_harden_requested(MW_TINY_MAX_BYTES) - 1 >=
			MW_SMALL_MAX_BYTES - MW_TINY_MAX_BYTES))
		return NULL;
	return mw_harden_pop_above_tiny(mw_class_computed(mw_harden_room(bytes)), bytes);
}

/* mw_fast_alloc_aligned() with the block sealed. */
MW_ALWAYS_INLINE void *mw_harden_alloc_aligned(size_t align, size_t bytes) {
	if (MW_UNLIKELY(bytes > MW_SMALL_MAX_BYTES || align > MW_SMALL_MAX_BYTES))
		return NULL;
	size_t rounded = (mw_harden_room(bytes) + align - 1) & -align;
	if (MW_UNLIKELY(rounded > MW_SMALL_MAX_BYTES))
		return NULL;
	unsigned size_class = mw_class_of(rounded);
	if (MW_UNLIKELY((mw_class_bytes[size_class] & (align - 1)) != 0))
		return NULL;
	return MW_LIKELY(rounded <= MW_TINY_MAX_BYTES)
		       ? mw_harden_pop_tiny(size_class, bytes)
		       : mw_harden_pop_above_tiny(size_class, bytes);
}

/* free() of a tiny block of the thread's own page; false: a word of the block is wrong, and nothing
 * was done. The block goes into its page's list at once, because mw_harden_hold_back() lets it wait
 * there as long as in the quarantine. */
MW_ALWAYS_INLINE bool mw_harden_free_own(mw_page_t *page, char *block, size_t bytes, size_t align) {
	size_t capacity = page->tiny_bytes;
	uint64_t mix = mw_harden_mix(block);
	size_t asked_bytes = mw_harden_live_tiny(block, capacity, mw_harden_canary(mix));
	if (MW_UNLIKELY(asked_bytes == MW_NO_CLAIM) ||
	    MW_UNLIKELY(!mw_harden_claims_hold(block, asked_bytes, bytes, align)))
		return false;
	mw_harden_fill_tiny(block, capacity);
	mw_harden_push(page, block, mix);
	return true;
}

/* Frees a block for functions that state its size or alignment, and for functions other than
 * free(). MW_NO_CLAIM: the function states none. */
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

/* realloc() of an ordinary block that stays in place; NULL: the block cannot stay, is not an
 * ordinary block, or has a wrong word. */
MW_ALWAYS_INLINE void *mw_harden_resize_in_place(char *block, size_t bytes) {
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) != MW_MAP_CHUNK))
		return NULL;
	/* The chunk's own record is no page: its kind reads as none. */
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
		if (MW_UNLIKELY(mw_harden_live_above_tiny(block, chunk, capacity, canary) ==
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

MW_ALWAYS_INLINE bool mw_harden_gives_zeros(size_t bytes) {
	(void)bytes;
	return false;
}

MW_ALWAYS_INLINE void *mw_harden_alloc_above_tiny(size_t bytes) {
	(void)bytes;
	return NULL;
}

MW_ALWAYS_INLINE void *mw_harden_alloc_at_once(size_t bytes) {
	return mw_refill_at_once(bytes);
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
