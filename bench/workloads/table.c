/* SPDX-License-Identifier: MIT
 * table.c [OPTION...] -- random exchange: --threads threads put blocks they made into random
 * places of one shared table and free what was there.
 *
 * Range: tables of 100 to 20,000 places.  Options: seeded.h. */
#include "seeded.h"

#include <stdatomic.h>

enum { POINT_OPERATIONS = 3000000, PLACES_MAX = 20000 };
enum { PLACES }; /* parameter of a point */

/* Acquire and release on the exchange: it hands the block's contents over. */
static _Atomic(unsigned char *) shared[PLACES_MAX];

typedef struct member {
	WL_OWN_LINES const wl_point_t *point;
	uint64_t seed;
	uint32_t places, operations;
	wl_sums_t sums;
} member_t;

static void *exchange(void *argument) {
	member_t *member = argument;
	for (uint32_t i = 0; i < member->operations; i++) {
		uint64_t random = wl_random(&member->seed);
		unsigned char *block = wl_block_make(member->point, &member->sums, random * WL_ODD);
		block = atomic_exchange_explicit(&shared[((random >> 32) * member->places) >> 32],
						 block, memory_order_acq_rel);
		if (block)
			wl_block_drop(member->point, &member->sums, block);
	}
	return NULL;
}

static void visit(wl_point_t *point, wl_sums_t *sums) {
	static member_t members[WL_THREADS_MAX];
	pthread_t handles[WL_THREADS_MAX];
	unsigned threads = point->options->threads;
	uint32_t places = wl_bounded(point, wl_draw(point, PLACES, 100, PLACES_MAX), 1);
	for (unsigned i = 0; i < threads; i++) {
		members[i] = (member_t){.point = point, .seed = wl_thread_seed(point, i)};
		members[i].places = places;
		members[i].operations = wl_operations(point, POINT_OPERATIONS, threads);
		handles[i] = wl_thread(exchange, &members[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(handles[i], NULL);
		wl_sums_add(sums, &members[i].sums);
	}
	for (uint32_t i = 0; i < places; i++) {
		unsigned char *block = atomic_exchange(&shared[i], NULL);
		if (block)
			wl_block_drop(point, sums, block);
	}
	char text[80];
	snprintf(text, sizeof(text), "%" PRIu32 " places", places);
	wl_point_end(point, sums->operations, text);
}

int main(int argc, char **argv) {
	static const char *const modes[] = {"", NULL};
	wl_options_t options = wl_options(argc, argv, modes);
	return wl_visit(&options, visit);
}
