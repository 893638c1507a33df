/* SPDX-License-Identifier: MIT
 * harden_lists.c -- lists of free blocks that begin anywhere, and blocks that are held back.  Part
 * of libmallow_secure only. */
#include "heap/local/harden_lists.h"

#include "heap/core/heap.h"
#include "heap/core/heap_page.h"
#include "heap/layout/queue.h"

void mw_harden_start_thread(mw_harden_thread_t *thread) {
	if (thread->random != 0) /* of a thread before */
		return;
	uint32_t *states[] = {&thread->held, &thread->short_place, &thread->small_place,
			      &thread->medium_place};
	for (unsigned i = 0; i < sizeof states / sizeof *states; i++)
		*states[i] = mw_harden_draw_below(&thread->random, UINT32_MAX);
}

/* Of a fresh list four blocks may come next, each with the same chance: the lowest one left in each
 * quarter of the list's memory, which begins at a random block and goes around its end.  Not in any
 * order: objects that a program made one after another would lie apart, and walking over them would
 * take three times as long (Python's collector of cycles over 1.5 million objects). */
#define QUARTERS 4u
typedef struct order {
	uint32_t count, first; /* blocks of the list; the one that block 0 of the order is */
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

/* The number of the next block; called `count` times. */
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

/* Ends a list after its first `count` blocks, and returns the last of these; *rest: the others. */
static void *split(void *list, uint32_t count, void **rest) {
	void *last = list;
	for (uint32_t i = 1; i < count; i++)
		last = mw_link_get(last);
	*rest = mw_link_get(last);
	mw_link_set(last, NULL);
	return last;
}

/* A page that has as many free ones stays where it is. */
#define LONG_BLOCKS (2 * MW_LIST_BLOCKS)

/* How many blocks must be freed after one before it may come back. */
MW_ALWAYS_INLINE uint32_t draw_held(mw_harden_thread_t *thread) {
	enum { FEWEST = 8, MORE_BITS = 3 };
	return FEWEST + (mw_harden_next(&thread->held) >> (32 - MORE_BITS));
}

/* A page that has few left goes behind the others of its class: its blocks would come in short
 * lists, each half of what is left.  There it gathers more. */
static MW_NOINLINE uint32_t queue_behind(mw_page_t *page, uint32_t left) {
	mw_page_queue_t *queue = &mw_thread.heap->queues[page->size_class];
	mw_queue_remove(queue, page);
	mw_queue_append(queue, page);
	return left;
}

MW_ALWAYS_INLINE uint32_t queued(mw_page_t *page, uint32_t left) {
	return left < LONG_BLOCKS && page->next ? queue_behind(page, left) : left;
}

/* Of those that have waited since the page was here the last time the youngest stay as well: so
 * many. */
static MW_NOINLINE uint32_t hold_aged(mw_page_t *page, void **list, uint32_t stay, uint32_t held) {
	page->aged_blocks = stay;
	split(page->aged, stay, list);
	return queued(page, held);
}

/* The page's blocks are above tiny, fresh in part or as a whole, or none have waited. */
static MW_NOINLINE uint32_t hold_first(mw_page_t *page, void **list, uint32_t count,
				       uint32_t fresh) {
	if (fresh > 0 && fresh < count) {
		/* Fresh blocks come before what is free already. */
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

/* The quarantine of tiny blocks that their owner frees.  Of what is free the younger half stays, up
 * to a number that nobody can tell, so that a block comes back only when that many were freed after
 * it, or its page has few others.  page->free has the block freed last at its front; what stayed
 * when the page was here the last time is apart, in page->aged, as all of page->free is younger: if
 * that is enough, no list need be walked.  No frame for that. */
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
