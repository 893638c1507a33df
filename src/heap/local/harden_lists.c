/* SPDX-License-Identifier: MIT
 * harden_lists.c -- the random order of lists of free blocks, and blocks that are held back.  Part
 * of libmallow_secure only. */
#include "heap/local/harden_lists.h"

#include "heap/layout/harden_block.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/size_class.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"

void mw_harden_start_thread(mw_harden_thread_t *thread) {
	if (thread->random != 0) /* the heap had another thread before */
		return;
	uint32_t *states[] = {&thread->held, &thread->short_place, &thread->small_place,
			      &thread->medium_place};
	for (unsigned i = 0; i < sizeof states / sizeof *states; i++)
		*states[i] = mw_harden_draw_below(&thread->random, UINT32_MAX);
}

/* Random order of a fresh list.  Four blocks may come next, each with the same chance: the lowest
 * one left in each quarter of the list's memory, which begins at a random block and wraps
 * around.  A wholly random order would place objects that a program made one after another far
 * apart: a walk over them would take three times as long (Python's collector of cycles over 1.5
 * million objects). */
#define QUARTERS 4u
typedef struct order {
	uint32_t count, first; /* blocks of the list; the block that is number 0 of the order */
	uint32_t next[QUARTERS], end[QUARTERS];
	uint64_t random;
} order_t;

static void start_order(order_t *order, uint32_t count, uint64_t *random) {
	order->count = count;
	order->first = mw_harden_draw_below(random, count);
	order->random = *random;
	for (uint32_t i = 0; i < QUARTERS; i++) {
		order->next[i] = count * i / QUARTERS;
		order->end[i] = count * (i + 1) / QUARTERS;
	}
}

/* Returns the number of the next block; called `count` times. */
MW_ALWAYS_INLINE uint32_t next_in_order(order_t *order) {
	uint32_t quarter = order->random % QUARTERS;
	order->random = order->random >> 2 | order->random << 62;
	while (order->next[quarter] == order->end[quarter])
		quarter = (quarter + 1) % QUARTERS;
	uint32_t number = order->first + order->next[quarter]++;
	return number < order->count ? number : number - order->count;
}

void *mw_harden_carve(mw_page_t *page, uint32_t index, uint32_t count, void *rest) {
	mw_harden_thread_t *thread = &mw_thread.heap->harden;
	order_t order;
	start_order(&order, count, &thread->random);
	size_t bytes = page->block_bytes;
	char *base = page->start + index * bytes;
	char *first = base + next_in_order(&order) * bytes, *block = first;
	for (uint32_t i = 1; i < count; i++) {
		char *next = base + next_in_order(&order) * bytes;
		mw_harden_fill_free(block, bytes);
		mw_link_set(block, next);
		block = next;
	}
	mw_harden_fill_free(block, bytes);
	mw_link_set(block, rest);
	thread->last_fresh = block;
	return first;
}

/* Ends a list after its first `count` blocks, and returns the last of them; *rest: the others. */
static void *split(void *list, uint32_t count, void **rest) {
	void *last = list;
	for (uint32_t i = 1; i < count; i++)
		last = mw_link_get(last);
	*rest = mw_link_get(last);
	mw_link_set(last, NULL);
	return last;
}

/* A page with at least so many free blocks keeps its place in the queue. */
#define LONG_BLOCKS (2 * MW_LIST_BLOCKS)

/* Draws how many blocks must be freed after a block before it may be used again. */
MW_ALWAYS_INLINE uint32_t draw_held(mw_harden_thread_t *thread) {
	enum { FEWEST = 8, MORE_BITS = 3 };
	return FEWEST + (mw_harden_next(&thread->held) >> (32 - MORE_BITS));
}

/* Puts a page with few blocks left behind the others of its class: it would give short lists, each
 * half of what is left.  There it gathers more. */
static MW_NOINLINE uint32_t queue_behind(mw_page_t *page, uint32_t left) {
	mw_page_queue_t *queue = &mw_thread.heap->queues[page->size_class];
	mw_queue_remove(queue, page);
	mw_queue_append(queue, page);
	return left;
}

MW_ALWAYS_INLINE uint32_t queued(mw_page_t *page, uint32_t left) {
	return left < LONG_BLOCKS && page->next ? queue_behind(page, left) : left;
}

/* The youngest `stay` blocks of those that have waited since the page was last here stay as well.
 */
static MW_NOINLINE uint32_t hold_aged(mw_page_t *page, void **list, uint32_t stay, uint32_t held) {
	page->aged_blocks = stay;
	split(page->aged, stay, list);
	return queued(page, held);
}

/* Handles pages above tiny, pages with fresh blocks, and pages of which no block has waited. */
static MW_NOINLINE uint32_t hold_first(mw_page_t *page, void **list, uint32_t count,
				       uint32_t fresh) {
	if (fresh > 0 && fresh < count) {
		/* Fresh blocks stand before those that were free already. */
		*list = page->free;
		split(mw_thread.heap->harden.last_fresh, 1, &page->free);
		return count - fresh;
	}
	if (page->size_class >= MW_TINY_CLASSES || count < 2 || fresh == count) {
		*list = page->free ? page->free : page->aged;
		page->free = NULL;
		mw_harden_forget_aged(page);
		return 0;
	}
	uint32_t held = draw_held(&mw_thread.heap->harden);
	if (held > count / 2)
		held = count / 2;
	page->aged = page->free;
	page->free = NULL;
	return hold_aged(page, list, held, held);
}

/* Quarantine of tiny blocks that their owner frees.  The younger part of the free blocks stays, up
 * to a secret number, so that a block comes back only when that many were freed after it, or its
 * page has few others.  page->free has the block freed last at its front.  Blocks that stayed when
 * the page was last here are apart, in page->aged, and older than all of page->free: if they are
 * enough, no list is walked.  That case needs no stack frame. */
uint32_t mw_harden_hold_back(mw_page_t *page, void **list, uint32_t count, uint32_t fresh) {
	void *aged = page->aged;
	if (!aged || MW_UNLIKELY(fresh > 0) || MW_UNLIKELY(count < 2))
		return hold_first(page, list, count, fresh);
	uint32_t held = draw_held(&mw_thread.heap->harden), young = count - page->aged_blocks;
	if (held > count / 2)
		held = count / 2;
	if (MW_UNLIKELY(young < held))
		return hold_aged(page, list, held - young, held);
	*list = aged;
	page->aged = page->free;
	page->aged_blocks = young;
	page->free = NULL;
	return queued(page, young);
}
