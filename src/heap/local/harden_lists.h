/* SPDX-License-Identifier: MIT
 * harden_lists.h -- the hardened library's lists of free blocks: the order in which a page's blocks
 * are linked, and the blocks that are held back.
 * Layer: heap.  Owner thread only. */
#ifndef MW_HEAP_HARDEN_LISTS_H
#define MW_HEAP_HARDEN_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"

#ifdef MW_HARDENED

/* The quarantine of a thread has three parts, by block size, so that the blocks in it have at most
 * 448 KiB.  A part of 4^n places stays full once it is: a block that comes in displaces another.
 * The places are taken in 2^n groups of 2^n, one group after the other, and at random within a
 * group: a block waits for at least 2^n later ones of its part, and for 4^n on average. */
#define MW_QUARANTINE_SHORT_BITS 3u  /* tiny blocks: up to 1 KiB */
#define MW_QUARANTINE_SMALL_BITS 2u  /* up to 8 KiB */
#define MW_QUARANTINE_MEDIUM_BITS 1u /* up to 64 KiB */
#define MW_QUARANTINE_SMALL_BYTES 8192u
#define MW_QUARANTINE_SHORT (1u << 2 * MW_QUARANTINE_SHORT_BITS)
#define MW_QUARANTINE_SMALL (1u << 2 * MW_QUARANTINE_SMALL_BITS)
#define MW_QUARANTINE_MEDIUM (1u << 2 * MW_QUARANTINE_MEDIUM_BITS)
#define MW_QUARANTINE_PLACES (MW_QUARANTINE_SHORT + MW_QUARANTINE_SMALL + MW_QUARANTINE_MEDIUM)
typedef struct mw_harden_thread {
	uint64_t random; /* state of the generator; 0: not seeded yet */
	/* States of smaller generators, seeded from `random`: for the number of blocks held back,
	 * and for the places in each part of the quarantine. */
	uint32_t held, short_place, small_place, medium_place;
	void *last_fresh; /* last block of the list carved last */
	void *quarantine[MW_QUARANTINE_PLACES];
} mw_harden_thread_t;

/* A linear congruential generator (Numerical Recipes' constants) whose state starts as a secret.
 * Its upper bits are random enough to choose where blocks wait, and it takes two instructions. */
MW_ALWAYS_INLINE uint32_t mw_harden_next(uint32_t *state) {
	return *state = *state * 1664525u + 1013904223u;
}

/* Links `count` blocks of the page, from number `index` on, into a list before `rest`. */
void *mw_harden_carve(mw_page_t *page, uint32_t index, uint32_t count, void *rest);
/* Splits the page's `count` free blocks, of which the first `fresh` are new, before a refill takes
 * them.  Blocks that must wait stay in page->free and page->aged; returns how many.  *list: the
 * others.  The page is the first of its queue, and perhaps the last afterwards. */
uint32_t mw_harden_hold_back(mw_page_t *page, void **list, uint32_t count, uint32_t fresh);
/* Returns the list of the page's free blocks that are not in page->free. */
static inline void *mw_harden_aged(const mw_page_t *page) {
	return page->aged;
}
/* Returns whether the page of tiny blocks has fewer free blocks than a refill needs.  A refill
 * hands out half of the free blocks: with fewer than these a block would come back before 8 later
 * ones were freed. */
#define MW_HARDEN_SHORT_BLOCKS 16u
static inline bool mw_harden_is_short(const mw_page_t *page) {
	return page->size_class < MW_TINY_CLASSES && page->carved == page->capacity &&
	       page->carved - page->used < MW_HARDEN_SHORT_BLOCKS;
}
static inline void mw_harden_forget_aged(mw_page_t *page) {
	page->aged = NULL;
	page->aged_blocks = 0;
}
/* A page begins: copies the size that free() needs to a place beside the page's list. */
static inline void mw_harden_start_page(mw_page_t *page) {
	if (page->size_class < MW_TINY_CLASSES)
		page->tiny_bytes = page->block_bytes;
}
/* free() will push blocks of this size onto the tcache list. */
static inline void mw_harden_start_tcache(mw_list_t *list, uint32_t block_bytes) {
	list->block_bytes = block_bytes;
}
/* A thread gets the heap that this is part of: seeds the generators. */
void mw_harden_start_thread(mw_harden_thread_t *thread);
/* Frees the blocks in the thread's quarantine. */
MW_HOOK void mw_harden_flush(mw_harden_thread_t *thread);
/* No memory is left for a large or huge block: frees the blocks in the quarantine of the calling
 * thread's heap and the large blocks that wait, so that their chunks may become free.  False: there
 * were none. */
MW_HOOK MW_COLD bool mw_harden_make_room(struct mw_heap *heap);
#else

typedef struct mw_harden_thread {
} mw_harden_thread_t;

static inline void *mw_harden_carve(mw_page_t *page, uint32_t index, uint32_t count, void *rest) {
	/* The value is read once, because the compiler must assume that writing a link changes it.
	 */
	size_t block_bytes = page->block_bytes;
	char *first = page->start + index * block_bytes, *block = first;
	for (char *last = first + (count - 1) * block_bytes; block != last; block += block_bytes)
		mw_link_set(block, block + block_bytes);
	mw_link_set(block, rest);
	return first;
}

static inline uint32_t mw_harden_hold_back(mw_page_t *page, void **list, uint32_t count,
					   uint32_t fresh) {
	(void)count, (void)fresh;
	*list = page->free;
	page->free = NULL;
	return 0;
}

static inline void *mw_harden_aged(const mw_page_t *page) {
	(void)page;
	return NULL;
}

static inline bool mw_harden_is_short(const mw_page_t *page) {
	(void)page;
	return false;
}
static inline void mw_harden_forget_aged(mw_page_t *page) {
	(void)page;
}

static inline void mw_harden_start_page(mw_page_t *page) {
	(void)page;
}

static inline void mw_harden_start_tcache(mw_list_t *list, uint32_t block_bytes) {
	(void)list, (void)block_bytes;
}

static inline void mw_harden_start_thread(mw_harden_thread_t *thread) {
	(void)thread;
}

static inline void mw_harden_flush(mw_harden_thread_t *thread) {
	(void)thread;
}

static inline bool mw_harden_make_room(struct mw_heap *heap) {
	(void)heap;
	return false;
}

#endif

#endif
