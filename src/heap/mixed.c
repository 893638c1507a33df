/* SPDX-License-Identifier: MIT
 * mixed.c -- where a thread's own blocks and others' mix: see outbox.h. */
#include "heap/heap_page.h"
#include "heap/outbox.h"

/* Blocks of a class mix where one refill in so many comes from the outbox. */
#define MIXED_FILLS 4u
/* They do no longer when of the blocks looked at, one every few lists, all but one in eight are the
 * heap's own for a while. */
#define OWN_SCORE_OTHERS 7u
#define OWN_SCORE_MOST 16u
/* With more pages that have free blocks the heap does not live on what others made. */
#define MIXED_PAGES_MOST 64u

static void begin_mixed(mw_heap_t *heap, unsigned size_class) {
	unsigned pages = 0;
	mw_page_t *page;
	for (page = heap->queues[size_class].first; page; page = page->next)
		if (++pages > MIXED_PAGES_MOST)
			return;
	for (page = heap->queues[size_class].first; page; page = page->next)
		mw_page_divert(page);
	heap->outbox[size_class].spared = MW_OUTBOX_SPARES_NONE;
}

static void end_mixed(mw_heap_t *heap, unsigned size_class) {
	heap->outbox[size_class].spared = heap;
	for (mw_page_t *page = heap->queues[size_class].first; page; page = page->next)
		mw_heap_page_claim(heap, page);
}

void mw_outbox_look(mw_heap_t *heap, unsigned size_class, const void *block) {
	mw_outbox_use_t *use = &heap->outbox_use[size_class];
	use->lists = 0;
	uint32_t fills = (uint32_t)heap->counts.fills[size_class] - use->fills_seen;
	use->fills_seen += fills;
	/* The hardened library's free() knows the thread's own blocks by its own means. */
	if (MW_HARDEN_ON)
		return;
	if (!mw_outbox_is_mixed(heap, size_class)) {
		use->own = 0;
		if (fills <= MW_OUTBOX_LOOK_LISTS * MIXED_FILLS)
			begin_mixed(heap, size_class);
		return;
	}
	const mw_page_t *page = mw_page_of_slice((uintptr_t)block);
	if (atomic_load_explicit(&page->heap, memory_order_relaxed) != heap)
		use->own -= use->own < OWN_SCORE_OTHERS ? use->own : OWN_SCORE_OTHERS;
	else if (++use->own == OWN_SCORE_MOST)
		end_mixed(heap, size_class);
}
