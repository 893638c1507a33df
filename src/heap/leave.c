/* SPDX-License-Identifier: MIT
 * leave.c -- lists go to their pages, pages to whoever needs them. */
#include "heap/leave.h"

#include "heap/arena.h"
#include "heap/heap_page.h"
#include "heap/orphan.h"
#include "heap/outbox.h"
#include "heap/queue.h"
#include "heap/remote.h"

/* Gives the page back, makes it an orphan, or, when its inbox is just being announced to this heap,
 * leaves it here as a full page until it is: see mw_heap_settle(). */
static void leave_page(mw_heap_t *heap, mw_page_queue_t *queue, mw_page_t *page) {
	mw_queue_remove(queue, page);
	mw_page_divert(page);
	/* Acquire, here and below, pairs with mw_remote_push(): with all blocks back, the slices
	 * may be another thread's at once. */
	uint64_t word = atomic_load_explicit(&page->remote, memory_order_acquire);
	/* FULL turns into PENDING at any moment: once it is gone without PENDING it cannot come. */
	while (word & MW_REMOTE_FULL)
		if (atomic_compare_exchange_weak_explicit(
			    &page->remote, &word, word & ~MW_REMOTE_FULL, memory_order_acq_rel,
			    memory_order_relaxed))
			word &= ~MW_REMOTE_FULL;
	if (word & MW_REMOTE_PENDING) {
		page->state = MW_PAGE_FULL;
		mw_queue_append(&heap->full, page);
		heap->pages++;
		return;
	}
	if (mw_remote_count(word) == page->used)
		mw_orphan_give(page);
	else
		mw_orphan_add(page);
}

void mw_leave_pending(mw_heap_t *heap) {
	/* Pairs with the push in inbox.c. */
	mw_page_t *page = atomic_exchange_explicit(&heap->pending, NULL, memory_order_seq_cst);
	atomic_store_explicit(&heap->backlog, 0, memory_order_relaxed);
	while (page) {
		mw_page_t *next = page->pending_next;
		atomic_fetch_and_explicit(&page->remote, ~MW_REMOTE_PENDING, memory_order_relaxed);
		heap->pages--;
		leave_page(heap, &heap->full, page);
		page = next;
	}
}

void mw_leave_all(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		mw_heap_head_flush(heap, c);
	mw_outbox_hand_on(heap);
	mw_heap_take_pending(heap);
	heap->spares = heap->pages = heap->pages_most = heap->made_way_pages = 0;
	heap->holes = heap->holes_due = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		while (heap->queues[c].first)
			leave_page(heap, &heap->queues[c], heap->queues[c].first);
	/* Pages left here are appended: stop before the first of them. */
	mw_page_t *last = heap->full.last, *page = heap->full.first;
	while (page) {
		mw_page_t *next = page == last ? NULL : page->next;
		leave_page(heap, &heap->full, page);
		page = next;
	}
	if (heap->arena)
		mw_arena_bind(NULL);
}
