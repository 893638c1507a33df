/* SPDX-License-Identifier: MIT
 * schedule.c -- the baton, and the locks of os/lock/lock.c as the scheduler sees them. */
#include "schedule.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "points.h"

#include "os/lock/lock.h"

bool schedule_torn_swaps, schedule_open_locks;

static struct {
	uint64_t random;
	uint64_t switches;
	unsigned rarity; /* at one point in so many the baton goes on */
	unsigned threads;
	bool runs[SCHEDULE_THREADS_MAX]; /* has not ended */
	sem_t baton[SCHEDULE_THREADS_MAX];
	sem_t over;
	void (*body)(unsigned thread);
} schedule;

/* Of the thread with the baton; -1 in others. */
static __thread int self = -1;

uint64_t schedule_draw(uint64_t *state) {
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t schedule_switches(void) {
	return schedule.switches;
}

static void take_baton(unsigned thread) {
	while (sem_wait(&schedule.baton[thread]) != 0)
		;
}

/* To any other that runs; false: there is none. */
static bool hand_on(void) {
	unsigned start = (unsigned)schedule_draw(&schedule.random) % schedule.threads;
	for (unsigned i = 0; i < schedule.threads; i++) {
		unsigned next = (start + i) % schedule.threads;
		if (schedule.runs[next] && (int)next != self) {
			schedule.switches++;
			sem_post(&schedule.baton[next]);
			return true;
		}
	}
	return false;
}

void schedule_alone(void) {
	for (unsigned i = 0; i < schedule.threads; i++)
		schedule.runs[i] = (int)i == self;
}

void schedule_point(void) {
	if (self < 0 || schedule_draw(&schedule.random) % schedule.rarity != 0)
		return;
	if (hand_on())
		take_baton((unsigned)self);
}

/* In the place of os/lock/lock.c's: whoever waits lets the others run. */
void mw_lock_acquire_slow(mw_lock_t *lock, mw_lock_rank_t rank, uint32_t held_ranks) {
	(void)rank;
	(void)held_ranks;
	while (!schedule_open_locks && !mw_lock_try(lock)) {
		if (!hand_on()) {
			fprintf(stderr, "a lock is held by nobody who runs\n");
			abort();
		}
		take_baton((unsigned)self);
	}
}

void mw_lock_wake(mw_lock_t *lock) {
	(void)lock;
}

static void *start(void *argument) {
	unsigned thread = (unsigned)(uintptr_t)argument;
	take_baton(thread);
	self = (int)thread;
	schedule.body(thread);
	schedule.runs[thread] = false;
	if (!hand_on())
		sem_post(&schedule.over);
	self = -1;
	return NULL;
}

void schedule_run(uint64_t seed, unsigned threads, void (*body)(unsigned thread)) {
	pthread_t running[SCHEDULE_THREADS_MAX];
	schedule.random = seed;
	schedule.threads = threads;
	schedule.body = body;
	/* From a switch at every other point, which meets the narrow windows, to one in 64, which
	 * lets a thread get far while another is held up. */
	schedule.rarity = 2u << schedule_draw(&schedule.random) % 6;
	sem_init(&schedule.over, 0, 0);
	for (unsigned i = 0; i < threads; i++) {
		schedule.runs[i] = true;
		sem_init(&schedule.baton[i], 0, 0);
		if (pthread_create(&running[i], NULL, start, (void *)(uintptr_t)i) != 0)
			abort();
	}
	sem_post(&schedule.baton[schedule_draw(&schedule.random) % threads]);
	while (sem_wait(&schedule.over) != 0)
		;
	for (unsigned i = 0; i < threads; i++)
		pthread_join(running[i], NULL);
}
