/* SPDX-License-Identifier: MIT
 * ring.c [OPTION...] -- batches of blocks go round a ring of --threads threads; each thread
 * replaces some blocks of a batch and passes it to the next thread.
 *
 * Ranges: batches of 16 to 512 blocks; 2 to 32 batches for each thread; 10 to 100 % of a batch's
 * blocks are replaced.  Options: seeded.h. */
#include "queue.h"
#include "seeded.h"

enum { POINT_OPERATIONS = 3000000 };
enum { BATCH_BLOCKS, BATCHES, REPLACED_PERCENT }; /* parameters of a point */

typedef struct batch {
	wl_item_t item;
	unsigned char *blocks[];
} batch_t;

typedef struct station {
	WL_OWN_LINES const wl_point_t *point;
	wl_queue_t *from, *to;
	uint64_t seed;
	uint32_t visits, batches; /* batches: those that this thread makes first */
	uint32_t length, replaced;
	wl_sums_t sums;
} station_t;

static batch_t *make_batch(station_t *station) {
	batch_t *batch = wl_malloc(sizeof(*batch) + station->length * sizeof(batch->blocks[0]));
	for (uint32_t i = 0; i < station->length; i++)
		batch->blocks[i] =
			wl_block_make(station->point, &station->sums, wl_random(&station->seed));
	return batch;
}

static void drop_batch(station_t *station, batch_t *batch) {
	for (uint32_t i = 0; i < station->length; i++)
		wl_block_drop(station->point, &station->sums, batch->blocks[i]);
	free(batch);
}

static void replace_some(station_t *station, batch_t *batch) {
	for (uint32_t i = 0; i < station->replaced; i++) {
		uint64_t random = wl_random(&station->seed);
		unsigned char **slot = &batch->blocks[((random >> 32) * station->length) >> 32];
		wl_block_drop(station->point, &station->sums, *slot);
		*slot = wl_block_make(station->point, &station->sums, random * WL_ODD);
	}
}

/* Takes as many batches as the thread before puts: nothing is left in a queue. */
static void *serve(void *argument) {
	station_t *station = argument;
	for (uint32_t i = 0; i < station->batches; i++)
		wl_queue_put(station->to, &make_batch(station)->item);
	for (uint32_t i = 0; i < station->visits; i++) {
		batch_t *batch = wl_queue_take(station->from);
		replace_some(station, batch);
		wl_queue_put(station->to, &batch->item);
	}
	for (uint32_t i = 0; i < station->batches; i++)
		drop_batch(station, wl_queue_take(station->from));
	return NULL;
}

static void visit(wl_point_t *point, wl_sums_t *sums) {
	static wl_queue_t queues[WL_THREADS_MAX];
	static station_t stations[WL_THREADS_MAX];
	pthread_t handles[WL_THREADS_MAX];
	unsigned threads = point->options->threads;
	station_t model = {.point = point};
	model.length = wl_draw(point, BATCH_BLOCKS, 16, 512);
	uint32_t blocks = wl_draw(point, BATCHES, 2, 32) * model.length;
	model.batches = wl_bounded(point, blocks, threads) / model.length;
	if (model.batches == 0)
		model.batches = 1;
	model.replaced = model.length * wl_draw(point, REPLACED_PERCENT, 10, 100) / 100;
	model.visits = wl_operations(point, POINT_OPERATIONS, threads) / model.replaced;
	for (unsigned i = 0; i < threads; i++)
		wl_queue_init(&queues[i], UINT32_MAX);
	for (unsigned i = 0; i < threads; i++) {
		stations[i] = model;
		stations[i].seed = wl_thread_seed(point, i);
		stations[i].from = &queues[i];
		stations[i].to = &queues[(i + 1) % threads];
		handles[i] = wl_thread(serve, &stations[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(handles[i], NULL);
		wl_sums_add(sums, &stations[i].sums);
	}
	char text[120];
	snprintf(text, sizeof(text),
		 "%" PRIu32 " batches of %" PRIu32 " each, %" PRIu32 " blocks replaced",
		 model.batches, model.length, model.replaced);
	wl_point_end(point, sums->operations, text);
}

int main(int argc, char **argv) {
	static const char *const modes[] = {"", NULL};
	wl_options_t options = wl_options(argc, argv, modes);
	return wl_visit(&options, visit);
}
