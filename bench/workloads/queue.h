/* SPDX-License-Identifier: MIT
 * queue.h -- a bounded queue between threads, first in, first out.  A queued struct begins with a
 * wl_item_t and belongs to whoever took it last.  Threads wait asleep for room and for items, so
 * that processor time is work. */
#ifndef BENCH_QUEUE_H
#define BENCH_QUEUE_H

#include "workload.h"

typedef struct wl_item {
	struct wl_item *next;
} wl_item_t;

typedef struct wl_queue {
	WL_OWN_LINES pthread_mutex_t lock;
	pthread_cond_t has_room, has_items;
	wl_item_t *first, *last;
	unsigned length, limit; /* items */
} wl_queue_t;

static inline void wl_queue_init(wl_queue_t *queue, unsigned limit) {
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->has_room, NULL);
	pthread_cond_init(&queue->has_items, NULL);
	queue->first = queue->last = NULL;
	queue->length = 0;
	queue->limit = limit;
}

/* Waits while `limit` items are in the queue. */
static inline void wl_queue_put(wl_queue_t *queue, wl_item_t *item) {
	item->next = NULL;
	pthread_mutex_lock(&queue->lock);
	while (queue->length >= queue->limit)
		pthread_cond_wait(&queue->has_room, &queue->lock);
	if (queue->last)
		queue->last->next = item;
	else
		queue->first = item;
	queue->last = item;
	queue->length++;
	pthread_cond_signal(&queue->has_items);
	pthread_mutex_unlock(&queue->lock);
}

/* Waits while the queue is empty. */
static inline void *wl_queue_take(wl_queue_t *queue) {
	pthread_mutex_lock(&queue->lock);
	while (!queue->first)
		pthread_cond_wait(&queue->has_items, &queue->lock);
	wl_item_t *item = queue->first;
	queue->first = item->next;
	if (!queue->first)
		queue->last = NULL;
	queue->length--;
	pthread_cond_signal(&queue->has_room);
	pthread_mutex_unlock(&queue->lock);
	return item;
}

#endif
