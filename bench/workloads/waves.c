/* SPDX-License-Identifier: MIT
 * waves.c [OPTION...] -- waves of --threads short threads: those of a wave begin together; when
 * all have ended the next wave begins.  A thread makes a set of blocks, replaces random ones of
 * it, and frees the set but for a part that it leaves to a thread of the next wave, which frees it
 * first.
 *
 * Ranges: sets of 10 to 2,000 blocks; 100 to 10,000 replacements a thread; 1 to 100 % of a set are
 * left.  Options: seeded.h. */
#include "seeded.h"

enum { POINT_OPERATIONS = 2000000, SET_MAX = 2000 };
enum { SET_BLOCKS, LIFE, LEFT_PERCENT }; /* parameters of a point */

/* Of the threads with one number in their waves; handed on by joining one and creating the next. */
typedef struct place {
	WL_OWN_LINES const wl_point_t *point;
	uint64_t seed;
	uint32_t set, life, left_at_end;
	uint32_t left; /* of the wave before: so many blocks, the first ones of `blocks` */
	wl_sums_t sums;
	unsigned char *blocks[SET_MAX];
} place_t;

static void drop_left(place_t *place) {
	for (uint32_t i = 0; i < place->left; i++)
		wl_block_drop(place->point, &place->sums, place->blocks[i]);
	place->left = 0;
}

static void *live(void *argument) {
	place_t *place = argument;
	drop_left(place);
	for (uint32_t i = 0; i < place->set; i++)
		place->blocks[i] =
			wl_block_make(place->point, &place->sums, wl_random(&place->seed));
	for (uint32_t i = 0; i < place->life; i++) {
		uint64_t random = wl_random(&place->seed);
		unsigned char **slot = &place->blocks[((random >> 32) * place->set) >> 32];
		wl_block_drop(place->point, &place->sums, *slot);
		*slot = wl_block_make(place->point, &place->sums, random * WL_ODD);
	}
	for (uint32_t i = place->left_at_end; i < place->set; i++)
		wl_block_drop(place->point, &place->sums, place->blocks[i]);
	place->left = place->left_at_end;
	return NULL;
}

static void visit(wl_point_t *point, wl_sums_t *sums) {
	static place_t places[WL_THREADS_MAX];
	pthread_t handles[WL_THREADS_MAX];
	unsigned threads = point->options->threads;
	uint32_t set = wl_bounded(point, wl_draw(point, SET_BLOCKS, 10, SET_MAX), threads);
	uint32_t life = wl_draw(point, LIFE, 100, 10000);
	uint32_t left_at_end = set * wl_draw(point, LEFT_PERCENT, 1, 100) / 100;
	uint32_t waves = wl_operations(point, POINT_OPERATIONS, threads) / (set + life) + 1;
	for (unsigned i = 0; i < threads; i++) {
		places[i] = (place_t){.point = point, .seed = wl_thread_seed(point, i)};
		places[i].set = set;
		places[i].life = life;
		places[i].left_at_end = left_at_end;
	}
	for (uint32_t wave = 0; wave < waves; wave++) {
		for (unsigned i = 0; i < threads; i++)
			handles[i] = wl_thread(live, &places[i]);
		for (unsigned i = 0; i < threads; i++)
			pthread_join(handles[i], NULL);
	}
	for (unsigned i = 0; i < threads; i++) {
		drop_left(&places[i]);
		wl_sums_add(sums, &places[i].sums);
	}
	char text[120];
	snprintf(text, sizeof(text),
		 "%" PRIu32 " waves, sets of %" PRIu32 ", %" PRIu32 " replaced, %" PRIu32 " left",
		 waves, set, life, left_at_end);
	wl_point_end(point, sums->operations, text);
}

int main(int argc, char **argv) {
	static const char *const modes[] = {"", NULL};
	wl_options_t options = wl_options(argc, argv, modes);
	return wl_visit(&options, visit);
}
