/* SPDX-License-Identifier: MIT
 * queue.h -- doubly linked lists of pages.
 * Layer: heap.  No lock of its own: the owner of the pages calls, or the holder of their lock. */
#ifndef MW_HEAP_QUEUE_H
#define MW_HEAP_QUEUE_H

#include "heap/layout/page.h"

typedef struct mw_page_queue {
	mw_page_t *first, *last;
} mw_page_queue_t;

static inline void mw_queue_append(mw_page_queue_t *queue, mw_page_t *page) {
	page->next = NULL;
	page->prev = queue->last;
	if (queue->last)
		queue->last->next = page;
	else
		queue->first = page;
	queue->last = page;
}

static inline void mw_queue_prepend(mw_page_queue_t *queue, mw_page_t *page) {
	page->prev = NULL;
	page->next = queue->first;
	if (queue->first)
		queue->first->prev = page;
	else
		queue->last = page;
	queue->first = page;
}

static inline void mw_queue_remove(mw_page_queue_t *queue, mw_page_t *page) {
	if (page->next)
		page->next->prev = page->prev;
	else
		queue->last = page->prev;
	if (page->prev)
		page->prev->next = page->next;
	else
		queue->first = page->next;
	page->next = page->prev = NULL;
}

#endif
