/* SPDX-License-Identifier: MIT
 * handover.c MODE -- blocks made by one thread and freed by another.  Modes: pipe (a producer and a
 * consumer), ring (four threads; each makes batches and frees those of others), flood (two
 * producers and two consumers of blocks of one size; the queue holds more than a processor's
 * cache). */
#include "queue.h"

enum { BATCH = 256, QUEUE = 16, PIPE_BATCHES = 30000, RING_BATCHES = 7000, RING_THREADS = 4 };
enum { FLOOD_PAIRS = 2, FLOOD_BATCHES = 8000, FLOOD_QUEUE = 1600, FLOOD_BYTES = 64 };

typedef struct batch {
	wl_item_t item;
	unsigned char *blocks[BATCH];
} batch_t;

static wl_queue_t queue;

static batch_t *make_batch(uint64_t *seed) {
	batch_t *batch = wl_malloc(sizeof(*batch));
	for (unsigned i = 0; i < BATCH; i++)
		batch->blocks[i] = wl_make(wl_skewed_size(seed, 4, 10), *seed >> 48);
	return batch;
}

static uint64_t drop_batch(batch_t *batch) {
	uint64_t sum = 0;
	for (unsigned i = 0; i < BATCH; i++)
		sum += wl_drop(batch->blocks[i]);
	free(batch);
	return sum;
}

static void *produce(void *argument) {
	uint64_t seed = 7;
	(void)argument;
	for (unsigned i = 0; i < PIPE_BATCHES; i++)
		wl_queue_put(&queue, &make_batch(&seed)->item);
	return NULL;
}

static uint64_t pipe_mode(void) {
	wl_queue_init(&queue, QUEUE);
	pthread_t producer = wl_thread(produce, NULL);
	uint64_t sum = 0;
	for (unsigned i = 0; i < PIPE_BATCHES; i++)
		sum += drop_batch(wl_queue_take(&queue));
	pthread_join(producer, NULL);
	return sum;
}

typedef struct member {
	WL_OWN_LINES uint64_t seed;
	uint64_t sum;
} member_t;

/* Puts one, takes one: the queue holds at most one batch a thread, so nobody waits for room. */
static void *circulate(void *argument) {
	member_t *member = argument;
	for (unsigned i = 0; i < RING_BATCHES; i++) {
		wl_queue_put(&queue, &make_batch(&member->seed)->item);
		member->sum += drop_batch(wl_queue_take(&queue));
	}
	return NULL;
}

static uint64_t ring_mode(void) {
	member_t members[RING_THREADS];
	pthread_t handles[RING_THREADS];
	uint64_t sum = 0, seed = 99;
	wl_queue_init(&queue, 2 * QUEUE + RING_THREADS);
	for (unsigned i = 0; i < QUEUE; i++)
		wl_queue_put(&queue, &make_batch(&seed)->item);
	for (unsigned i = 0; i < RING_THREADS; i++) {
		members[i] = (member_t){i + 1, 0};
		handles[i] = wl_thread(circulate, &members[i]);
	}
	for (unsigned i = 0; i < RING_THREADS; i++) {
		pthread_join(handles[i], NULL);
		sum += members[i].sum;
	}
	while (queue.first)
		sum += drop_batch(wl_queue_take(&queue));
	return sum;
}

static void *flood(void *argument) {
	const member_t *member = argument;
	for (unsigned i = 0; i < FLOOD_BATCHES; i++) {
		batch_t *batch = wl_malloc(sizeof(*batch));
		for (unsigned k = 0; k < BATCH; k++)
			batch->blocks[k] = wl_make(FLOOD_BYTES, member->seed + k);
		wl_queue_put(&queue, &batch->item);
	}
	return NULL;
}

static void *drain(void *argument) {
	member_t *member = argument;
	for (unsigned i = 0; i < FLOOD_BATCHES; i++)
		member->sum += drop_batch(wl_queue_take(&queue));
	return NULL;
}

static uint64_t flood_mode(void) {
	member_t members[2 * FLOOD_PAIRS];
	pthread_t handles[2 * FLOOD_PAIRS];
	uint64_t sum = 0;
	wl_queue_init(&queue, FLOOD_QUEUE);
	for (unsigned i = 0; i < 2 * FLOOD_PAIRS; i++) {
		members[i] = (member_t){i + 1, 0};
		handles[i] = wl_thread(i % 2 ? drain : flood, &members[i]);
	}
	for (unsigned i = 0; i < 2 * FLOOD_PAIRS; i++) {
		pthread_join(handles[i], NULL);
		sum += members[i].sum;
	}
	return sum;
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "pipe";
	if (!strcmp(mode, "flood"))
		return wl_finish(flood_mode());
	return wl_finish(!strcmp(mode, "ring") ? ring_mode() : pipe_mode());
}
