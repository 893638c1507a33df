/* SPDX-License-Identifier: MIT
 * relay.c [OPTION...] -- threads of milliseconds, one generation after the other.  A thread makes a
 * set of blocks, replaces random ones of it, and hands some on: now and then it exchanges a block
 * of its set with one in a table that all threads share, where it finds what earlier threads made.
 * At its end it frees its set.  --threads work at a time; each that ends starts its successor.
 *
 * Ranges: sets of 100 to 20,000 blocks; lifetimes of 20,000 to 800,000 replacements (1 to some 50
 * ms); one block in 100 to 1,000 goes through the table of 2,000 places.  One block in 300 is 16
 * times as large.  Options: seeded.h. */
#include "seeded.h"

#include <semaphore.h>
#include <stdatomic.h>

enum { POINT_OPERATIONS = 4000000, SET_MAX = 20000, PLACES = 2000, LARGER_ONE_IN = 300 };
enum { SET_BLOCKS, LIFE, SHARED_ONE_IN }; /* parameters of a point */

static _Atomic(unsigned char *) places[PLACES];

/* Belongs to the thread that works on it; handed on by pthread_create(). */
typedef struct runner {
	WL_OWN_LINES const wl_point_t *point;
	uint64_t seed;
	uint32_t set, life, shared_one_in, threads_left;
	wl_sums_t sums;
	sem_t done;
	unsigned char *blocks[SET_MAX];
} runner_t;

static unsigned char *make(runner_t *runner, uint64_t random) {
	wl_point_t point = *runner->point;
	if ((random >> 40) % LARGER_ONE_IN == 0) {
		point.size_low *= 16;
		point.size_high = point.size_high > 4000 ? 65000 : point.size_high * 16;
	}
	return wl_block_make(&point, &runner->sums, random);
}

static void drop(runner_t *runner, unsigned char *block) {
	wl_point_t point = *runner->point;
	point.size_high = 65535;
	if (block)
		wl_block_drop(&point, &runner->sums, block);
}

static void *live(void *argument) {
	runner_t *runner = argument;
	for (uint32_t i = 0; i < runner->set; i++)
		runner->blocks[i] = make(runner, wl_random(&runner->seed));
	for (uint32_t i = 0; i < runner->life; i++) {
		uint64_t random = wl_random(&runner->seed);
		unsigned char **slot = &runner->blocks[((random >> 32) * runner->set) >> 32];
		if ((random & 0xffffff) % runner->shared_one_in == 0)
			*slot = atomic_exchange(&places[(random >> 24) % PLACES], *slot);
		drop(runner, *slot);
		*slot = make(runner, random * WL_ODD);
	}
	for (uint32_t i = 0; i < runner->set; i++)
		drop(runner, runner->blocks[i]);
	if (--runner->threads_left == 0)
		sem_post(&runner->done);
	else
		pthread_detach(wl_thread(live, runner));
	return NULL;
}

static void visit(wl_point_t *point, wl_sums_t *sums) {
	static runner_t runners[WL_THREADS_MAX];
	unsigned threads = point->options->threads;
	uint32_t set = wl_bounded(point, wl_draw(point, SET_BLOCKS, 100, SET_MAX), threads);
	uint32_t life = wl_draw(point, LIFE, 20000, 800000);
	uint32_t shared_one_in = wl_draw(point, SHARED_ONE_IN, 100, 1000);
	uint32_t generations = wl_operations(point, POINT_OPERATIONS, threads) / (set + life) + 1;
	for (unsigned i = 0; i < threads; i++) {
		runner_t *runner = &runners[i];
		*runner = (runner_t){.point = point, .seed = wl_thread_seed(point, i), .set = set};
		runner->life = life;
		runner->shared_one_in = shared_one_in;
		runner->threads_left = generations;
		sem_init(&runner->done, 0, 0);
		pthread_detach(wl_thread(live, runner));
	}
	for (unsigned i = 0; i < threads; i++)
		while (sem_wait(&runners[i].done) != 0)
			continue;
	for (unsigned i = 0; i < PLACES; i++)
		drop(&runners[0], atomic_exchange(&places[i], NULL));
	for (unsigned i = 0; i < threads; i++)
		wl_sums_add(sums, &runners[i].sums);
	char text[120];
	snprintf(text, sizeof(text),
		 "%" PRIu32 " generations of %" PRIu32 ", sets of %" PRIu32 ", one of %" PRIu32
		 " shared",
		 generations, life, set, shared_one_in);
	wl_point_end(point, sums->operations, text);
}

int main(int argc, char **argv) {
	static const char *const modes[] = {"", NULL};
	wl_options_t options = wl_options(argc, argv, modes);
	return wl_visit(&options, visit);
}
