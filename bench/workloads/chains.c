/* SPDX-License-Identifier: MIT
 * chains.c MODE [OPTION...] -- chains of threads; each thread replaces random blocks of its chain's
 * set.  --threads chains work at a time.  Modes:
 *
 * handover     after its life a thread hands the set to a new thread and ends; the new one begins
 *              when the old one has ended; first lifetimes differ, so that chains hand over in turn
 * alone        one thread a chain to the end; main, asleep, made the blocks of its first set
 * generations  lifetimes of about 1 to 20 ms; the new thread begins while the old one frees what it
 *              kept for itself and ends
 *
 * Ranges: sets of 100 to 20,000 blocks; lifetimes of 10,000 to 1,000,000 operations, of generations
 * 25,000 to 500,000; blocks that an ending thread kept for itself: 1 to 1,000, at most a
 * set.  Options: seeded.h. */
#include "seeded.h"

#include <semaphore.h>

enum { POINT_OPERATIONS = 3000000, KEPT_MAX = 1000 };
enum { SET_BLOCKS, LIFE, KEPT }; /* parameters of a point */

/* Belongs to the thread that works on it; handed on by pthread_create(). */
typedef struct chain {
	WL_OWN_LINES wl_point_t *point;
	uint64_t seed, left; /* operations */
	unsigned char **blocks;
	uint32_t set, life, first_life, kept;
	bool overlaps; /* the predecessor ends while its successor works */
	bool has_predecessor;
	pthread_t predecessor;
	wl_sums_t sums;
	sem_t done; /* `predecessor` is the last thread, for main to join */
} chain_t;

static void replace_blocks(chain_t *chain, uint64_t operations) {
	for (uint64_t i = 0; i < operations; i++) {
		uint64_t random = wl_random(&chain->seed);
		unsigned char **slot = &chain->blocks[((random >> 32) * chain->set) >> 32];
		wl_block_drop(chain->point, &chain->sums, *slot);
		*slot = wl_block_make(chain->point, &chain->sums, random * WL_ODD);
	}
}

static void fill_set(chain_t *chain) {
	for (uint32_t i = 0; i < chain->set; i++)
		chain->blocks[i] =
			wl_block_make(chain->point, &chain->sums, wl_random(&chain->seed));
}

static void join_predecessor(chain_t *chain) {
	if (!chain->has_predecessor)
		return;
	void *result;
	pthread_join(chain->predecessor, &result);
	wl_sums_t *sums = result;
	if (sums) {
		wl_sums_add(&chain->sums, sums);
		free(sums);
	}
}

static void *live(void *argument) {
	chain_t *chain = argument;
	const wl_point_t *point = chain->point;
	unsigned char *kept[KEPT_MAX];
	uint32_t kept_count = chain->overlaps ? chain->kept : 0;
	if (!chain->overlaps)
		join_predecessor(chain);
	if (!chain->blocks[0])
		fill_set(chain);
	for (uint32_t i = 0; i < kept_count; i++)
		kept[i] = wl_block_make(point, &chain->sums, wl_random(&chain->seed));
	uint64_t operations = chain->has_predecessor ? chain->life : chain->first_life;
	if (operations > chain->left)
		operations = chain->left;
	replace_blocks(chain, operations);
	chain->left -= operations;
	if (chain->overlaps)
		join_predecessor(chain);
	chain->predecessor = pthread_self();
	chain->has_predecessor = true;
	/* Main or the successor joins this thread and frees its sums. */
	wl_sums_t *sums = chain->overlaps ? wl_check(calloc(1, sizeof(*sums))) : NULL;
	if (chain->left == 0)
		sem_post(&chain->done);
	else
		wl_thread(live, chain);
	/* The chain is another's from here on. */
	for (uint32_t i = 0; i < kept_count; i++)
		wl_block_drop(point, sums, kept[i]);
	return sums;
}

static void begin_chain(chain_t *chain, wl_point_t *point, unsigned index) {
	const wl_options_t *options = point->options;
	bool alone = !strcmp(options->mode, "alone");
	bool overlaps = !strcmp(options->mode, "generations");
	*chain = (chain_t){.point = point, .overlaps = overlaps};
	chain->seed = wl_thread_seed(point, index);
	chain->set = wl_bounded(point, wl_draw(point, SET_BLOCKS, 100, 20000), options->threads);
	chain->left = wl_operations(point, POINT_OPERATIONS, options->threads);
	chain->life = wl_percent(options, overlaps ? wl_draw(point, LIFE, 25000, 500000)
						   : wl_draw(point, LIFE, 10000, 1000000));
	if (alone)
		chain->life = (uint32_t)chain->left;
	chain->first_life = (uint32_t)((uint64_t)chain->life * (index + 1) / options->threads);
	chain->kept = wl_draw(point, KEPT, 1, KEPT_MAX);
	if (chain->kept > chain->set)
		chain->kept = chain->set;
	chain->blocks = wl_check(calloc(chain->set, sizeof(*chain->blocks)));
	sem_init(&chain->done, 0, 0);
	if (alone)
		fill_set(chain);
}

static void visit(wl_point_t *point, wl_sums_t *sums) {
	static chain_t chains[WL_THREADS_MAX];
	unsigned threads = point->options->threads;
	for (unsigned i = 0; i < threads; i++)
		begin_chain(&chains[i], point, i);
	for (unsigned i = 0; i < threads; i++)
		wl_thread(live, &chains[i]);
	for (unsigned i = 0; i < threads; i++) {
		chain_t *chain = &chains[i];
		while (sem_wait(&chain->done) != 0)
			;
		join_predecessor(chain);
		for (uint32_t k = 0; k < chain->set; k++)
			wl_block_drop(point, &chain->sums, chain->blocks[k]);
		free(chain->blocks);
		sem_destroy(&chain->done);
		wl_sums_add(sums, &chain->sums);
	}
	char text[100];
	snprintf(text, sizeof(text), "sets of %" PRIu32 ", lifetimes of %" PRIu32, chains[0].set,
		 chains[0].life);
	wl_point_end(point, sums->operations, text);
}

int main(int argc, char **argv) {
	static const char *const modes[] = {"handover", "alone", "generations", NULL};
	wl_options_t options = wl_options(argc, argv, modes);
	return wl_visit(&options, visit);
}
