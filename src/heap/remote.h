/* SPDX-License-Identifier: MIT
 * remote.h -- a page's inbox: blocks freed by threads that do not own the page.
 * Layer: heap.  Lock-free, any thread.
 *
 * The word holds the first block's address (48 bits), the number of blocks (13 bits) and three
 * flags.  Threads push with a compare-and-swap (release); the owner takes the whole list with an
 * exchange (acquire), so there is no ABA: nobody pops single blocks.
 *
 * - FULL: the owner took the page out of its queue; the first push must tell it.  That push turns
 *   FULL into PENDING and then hangs the page into the heap's list of pending pages.
 * - PENDING: the page is in that list or about to be.  Only its heap clears the flag, when it takes
 *   the page out of the list; until then the page is neither given back nor abandoned.
 * - ORPHAN: the page has no thread; the push that brings the last block back frees the page. */
#ifndef MW_HEAP_REMOTE_H
#define MW_HEAP_REMOTE_H

#include <stdatomic.h>
#include <stdint.h>

#include "heap/harden.h"
#include "heap/page.h"

#define MW_REMOTE_FULL ((uint64_t)1)
#define MW_REMOTE_PENDING ((uint64_t)2)
#define MW_REMOTE_ORPHAN ((uint64_t)4)
#define MW_REMOTE_FLAGS ((uint64_t)7)
#define MW_REMOTE_COUNT_SHIFT 3u
#define MW_REMOTE_COUNT_MASK ((uint64_t)0x1fff)
#define MW_REMOTE_BLOCK_SHIFT 16u

/* A list of NULL with a count: all blocks of the page, whose memory was purged (mw_remote_claim()).
 *
 * A page of 64 KiB has at most 4096 blocks. */
_Static_assert(MW_SLICE_BYTES / 16 <= MW_REMOTE_COUNT_MASK, "the count fits");

static inline uint32_t mw_remote_count(uint64_t word) {
	return (uint32_t)(word >> MW_REMOTE_COUNT_SHIFT & MW_REMOTE_COUNT_MASK);
}

static inline void *mw_remote_list(uint64_t word) {
	return (void *)(uintptr_t)(word >> MW_REMOTE_BLOCK_SHIFT);
}

/* What a push of `count` blocks from `first` on makes of the word. */
static inline uint64_t mw_remote_added(uint64_t old, const void *first, uint32_t count) {
	uint64_t flags = old & MW_REMOTE_FLAGS;
	if (flags & MW_REMOTE_FULL)
		flags = (flags & ~MW_REMOTE_FULL) | MW_REMOTE_PENDING;
	return (uint64_t)(uintptr_t)first << MW_REMOTE_BLOCK_SHIFT |
	       (uint64_t)(mw_remote_count(old) + count) << MW_REMOTE_COUNT_SHIFT | flags;
}

/* Adds a list of `count` blocks; returns the word as it was before.  The release pairs with
 * mw_remote_take(); the acquire with whoever set FULL or ORPHAN: the page's heap and used count,
 * which the caller reads next, are those that went with the flag. */
static inline uint64_t mw_remote_push(mw_page_t *page, void *first, void *last, uint32_t count) {
	uint64_t old = atomic_load_explicit(&page->remote, memory_order_relaxed);
	do {
		if (last) /* NULL: all blocks, see above; the inbox is empty */
			mw_link_set(last, mw_remote_list(old));
	} while (!atomic_compare_exchange_weak_explicit(
		&page->remote, &old, mw_remote_added(old, first, count), memory_order_acq_rel,
		memory_order_relaxed));
	return old;
}

/* Takes the list if that is all blocks of the page, and the word still `word`: until they are
 * pushed again nobody but the caller has a part in the page's memory, and it is no other page
 * meanwhile. Not of an orphan, which goes away as it is.  Pairs with mw_remote_push(). */
static inline bool mw_remote_claim(mw_page_t *page, uint64_t word) {
	return !(word & MW_REMOTE_ORPHAN) && mw_remote_count(word) == page->capacity &&
	       atomic_compare_exchange_strong_explicit(&page->remote, &word, word & MW_REMOTE_FLAGS,
						       memory_order_acq_rel, memory_order_relaxed);
}

/* Takes the list and clears `clear_flags`; returns the word as it was.  Pairs with
 * mw_remote_push(). */
static inline uint64_t mw_remote_take(mw_page_t *page, uint64_t clear_flags) {
	uint64_t old = atomic_load_explicit(&page->remote, memory_order_relaxed);
	if (mw_remote_count(old) == 0 && !(old & clear_flags))
		return old;
	while (!atomic_compare_exchange_weak_explicit(&page->remote, &old,
						      old & MW_REMOTE_FLAGS & ~clear_flags,
						      memory_order_acquire, memory_order_relaxed))
		;
	return old;
}

#endif
