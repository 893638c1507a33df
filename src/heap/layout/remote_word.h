/* SPDX-License-Identifier: MIT
 * remote_word.h -- the remote word of a page: its thread-delayed free list and who may take the
 * page.
 * Layer: heap.  Lock-free, any thread.  heap/remote/remote.h is the manual.
 *
 * The word holds the first block's address (48 bits), a number of blocks (13 bits) and two flags.
 * Threads push lists with a compare-and-swap (release); the owner takes the whole list (acquire).
 * Nobody pops single blocks, so there is no ABA problem.
 *
 * - ABANDONED: the page has no owner.  Whoever clears the flag owns the page.
 * - LISTED, beside ABANDONED: the page has free blocks and is in the class's list of abandoned
 *   pages.  A page that is abandoned and not listed is full, and its delayed list is empty.
 *
 * A push to a full page takes the page and pushes nothing: the pusher has the blocks and the page.
 * A push to a listed page leaves the page listed, unless it brings the last block back: then the
 * pusher owns the page.  A listed page's count starts at MW_REMOTE_ALL minus the blocks in
 * use, so the push that returns the last block sees MW_REMOTE_ALL. */
#ifndef MW_HEAP_REMOTE_WORD_H
#define MW_HEAP_REMOTE_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "heap/layout/link.h"
#include "heap/layout/page.h"

#define MW_REMOTE_ABANDONED ((uint64_t)1)
#define MW_REMOTE_LISTED ((uint64_t)2)
#define MW_REMOTE_FLAGS ((uint64_t)3)
#define MW_REMOTE_COUNT_SHIFT 3u
#define MW_REMOTE_COUNT_MASK ((uint64_t)0x1fff)
#define MW_REMOTE_BLOCK_SHIFT 16u
/* Most blocks of a page of 64 KiB. */
#define MW_REMOTE_ALL 4096u
_Static_assert(MW_SLICE_BYTES / 16 <= MW_REMOTE_ALL, "a page's blocks");
_Static_assert(MW_REMOTE_ALL <= MW_REMOTE_COUNT_MASK, "the count fits");

static inline uint64_t mw_remote_word(const mw_page_t *page) {
	return atomic_load_explicit(&((mw_page_t *)(uintptr_t)page)->remote, memory_order_relaxed);
}

static inline uint32_t mw_remote_count(uint64_t word) {
	return (uint32_t)(word >> MW_REMOTE_COUNT_SHIFT & MW_REMOTE_COUNT_MASK);
}

/* Returns the blocks in the delayed list of a page.  `used`: the page's blocks that are out or in
 * that list. */
static inline uint32_t mw_remote_length(uint64_t word, uint32_t used) {
	uint32_t free = word & MW_REMOTE_LISTED ? MW_REMOTE_ALL - used : 0;
	return mw_remote_count(word) - free;
}

/* Returns the blocks of a page of another thread that the program or a tcache list has: less
 * those that other threads freed and the owner has not collected; a thread that ended never does.
 */
static inline uint32_t mw_remote_used(const mw_page_t *page) {
	uint32_t used = __atomic_load_n(&page->used, __ATOMIC_RELAXED);
	uint32_t remote = mw_remote_length(mw_remote_word(page), used);
	return used - (remote < used ? remote : used);
}

static inline void *mw_remote_list(uint64_t word) {
	return (void *)(uintptr_t)(word >> MW_REMOTE_BLOCK_SHIFT);
}

/* Returns whether the page is full: it has no owner and no free block. */
static inline bool mw_remote_is_full(uint64_t word) {
	return (word & MW_REMOTE_FLAGS) == MW_REMOTE_ABANDONED;
}

/* Replaces the page's word by `wanted` if it is still *word; otherwise loads it into
 * *word.  Acquire and release: pairs with itself. */
static inline bool mw_remote_swap(mw_page_t *page, uint64_t *word, uint64_t wanted) {
	return atomic_compare_exchange_weak_explicit(&page->remote, word, wanted,
						     memory_order_acq_rel, memory_order_relaxed);
}

typedef enum mw_remote_pushed {
	MW_REMOTE_SENT,  /* the page has the blocks */
	MW_REMOTE_TOOK,  /* the page was full: the caller owns it, and still has the blocks */
	MW_REMOTE_ENDED, /* the page was listed, and all its blocks are back: the caller owns it */
} mw_remote_pushed_t;

/* Pushes a list of `count` blocks. */
static inline mw_remote_pushed_t mw_remote_push(mw_page_t *page, void *first, void *last,
						uint32_t count) {
	mw_remote_pushed_t pushed;
	uint64_t old = mw_remote_word(page), wanted;
	do {
		uint32_t all = mw_remote_count(old) + count;
		bool listed = (old & MW_REMOTE_LISTED) != 0;
		void *behind = mw_remote_list(old);
		wanted = (uint64_t)(uintptr_t)first << MW_REMOTE_BLOCK_SHIFT |
			 (uint64_t)all << MW_REMOTE_COUNT_SHIFT | (old & MW_REMOTE_FLAGS);
		pushed = MW_REMOTE_SENT;
		if (MW_UNLIKELY(mw_remote_is_full(old))) {
			pushed = MW_REMOTE_TOOK;
			wanted = 0;
		} else if (listed && all == MW_REMOTE_ALL) {
			pushed = MW_REMOTE_ENDED;
			wanted &= ~MW_REMOTE_FLAGS;
		}
		mw_link_set(last, behind);
	} while (!mw_remote_swap(page, &old, wanted));
	return pushed;
}

/* The owner takes the whole list; returns it, and stores the number of its blocks. */
static inline void *mw_remote_take(mw_page_t *page, uint32_t *count) {
	uint64_t old = mw_remote_word(page);
	void *list;
	do {
		list = mw_remote_list(old);
		*count = mw_remote_count(old);
		MW_HOLD(list);
	} while (*count > 0 && !mw_remote_swap(page, &old, 0));
	return list;
}

/* The owner of a page without a free block gives the page up.  False: a block came back. */
static inline bool mw_remote_abandon_full(mw_page_t *page) {
	uint64_t none = 0;
	do {
		if (none != 0)
			return false;
	} while (!mw_remote_swap(page, &none, MW_REMOTE_ABANDONED));
	return true;
}

/* The owner of a page with `used` blocks out gives the page up.  False: all of these came back. */
static inline bool mw_remote_abandon_listed(mw_page_t *page, uint32_t used) {
	uint64_t old = mw_remote_word(page);
	do {
		if (mw_remote_count(old) == used && used != 0)
			return false;
	} while (!mw_remote_swap(
		page, &old,
		(old + ((uint64_t)(MW_REMOTE_ALL - used) << MW_REMOTE_COUNT_SHIFT)) |
			MW_REMOTE_ABANDONED | MW_REMOTE_LISTED));
	return true;
}

/* Under the lock of the list that the page is in: makes the caller the owner of the page.  False:
 * the page has an owner, who brought its last block back and waits for the lock. */
static inline bool mw_remote_take_listed(mw_page_t *page) {
	uint64_t old = mw_remote_word(page);
	while (old & MW_REMOTE_LISTED) {
		uint64_t free = MW_REMOTE_ALL - page->used;
		if (mw_remote_swap(page, &old,
				   (old - (free << MW_REMOTE_COUNT_SHIFT)) & ~MW_REMOTE_FLAGS))
			return true;
	}
	return false;
}

#endif
