/* SPDX-License-Identifier: MIT
 * job_queue.c -- an array, and the index of the first entry that nobody has taken. */
#include "symbol/workers/job_queue.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "model/memory.h"

/* Most places of one unit in one turn.  With more, a second process that reads the unit, too,
 * pays off. */
#define PLACES_A_TURN_MAX 4096

typedef struct shared {
	sem_t opened; /* posted once for each worker when the queue opens */
	_Atomic bool is_open;
	_Atomic size_t next; /* entries before this index are taken */
	_Atomic size_t count;
	mw_place_t places[];
} shared_t;

struct mw_queue {
	shared_t *shared;
	size_t capacity, bytes; /* private to each process, so no other process can change them */
};

mw_queue_t *mw_queue_new(size_t capacity) {
	size_t bytes = sizeof(shared_t) + capacity * sizeof(mw_place_t);
	shared_t *shared =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return NULL;
	sem_init(&shared->opened, 1, 0);
	mw_queue_t *queue = mw_xcalloc(1, sizeof(*queue));
	*queue = (mw_queue_t){shared, capacity, bytes};
	return queue;
}

void mw_queue_free(mw_queue_t *queue) {
	if (queue != NULL)
		munmap(queue->shared, queue->bytes);
	free(queue);
}

mw_place_t *mw_queue_places(mw_queue_t *queue) {
	return queue->shared->places;
}

void mw_queue_open(mw_queue_t *queue, size_t count) {
	queue->shared->count = count;
	queue->shared->is_open = true;
	for (int i = 0; i < MW_QUEUE_WORKERS_MAX; i++)
		sem_post(&queue->shared->opened);
}

void mw_queue_abandon(mw_queue_t *queue) {
	if (!queue->shared->is_open)
		mw_queue_open(queue, 0);
}

/* Returns the number of places, limited to the capacity whatever another worker wrote. */
static size_t count_of(const mw_queue_t *queue) {
	size_t count = queue->shared->count;
	return count < queue->capacity ? count : queue->capacity;
}

size_t mw_queue_wait(mw_queue_t *queue) {
	while (sem_wait(&queue->shared->opened) != 0 && errno == EINTR)
		continue;
	size_t count = count_of(queue), next = queue->shared->next;
	return next < count ? count - next : 0;
}

size_t mw_queue_take(mw_queue_t *queue, const mw_place_t **places) {
	size_t count = count_of(queue), first = queue->shared->next, end;
	do {
		if (first >= count)
			return 0;
		size_t most = count - first < PLACES_A_TURN_MAX ? count - first : PLACES_A_TURN_MAX;
		*places = queue->shared->places + first;
		for (end = first + 1; end < first + most; end++)
			if (queue->shared->places[end].unit != (*places)->unit)
				break;
	} while (!atomic_compare_exchange_weak(&queue->shared->next, &first, end));
	return end - first;
}
