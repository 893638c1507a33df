/* SPDX-License-Identifier: MIT
 * pipes.c MODE [OPTION...] -- producers make blocks, consumers free them; batches of blocks go
 * through bounded queues.  Modes, with --threads N:
 *
 * pairs   N producers, each with a consumer and a queue of its own
 * spread  one producer, N consumers, one queue
 * gather  N producers, one consumer, one queue
 * bursts  N pairs; a producer makes a burst of blocks, then sleeps until its consumer has freed all
 *
 * Ranges: batches of 16 to 512 blocks; queues of 2 to 128 batches; bursts of 1,000 to 50,000
 * blocks.  Options: seeded.h. */
#include "queue.h"
#include "seeded.h"

enum { POINT_OPERATIONS = 2000000 };
enum { BATCH_BLOCKS, QUEUE_BATCHES, BURST_BLOCKS }; /* parameters of a point */

typedef struct batch {
	wl_item_t item;
	uint32_t length;
	bool ends_burst;
	unsigned char *blocks[];
} batch_t;

typedef struct pipe {
	wl_queue_t full;   /* batches */
	wl_queue_t answer; /* of bursts: an item when all is freed */
} pipe_t;

typedef struct member {
	WL_OWN_LINES const wl_point_t *point;
	pipe_t *pipe;
	uint64_t seed, blocks; /* blocks: to make; of a producer */
	uint32_t batch, burst; /* blocks; burst is 0 where producers do not wait */
	wl_sums_t sums;
} member_t;

static void put_batch(member_t *member, uint32_t length, bool ends_burst) {
	batch_t *batch = wl_malloc(sizeof(*batch) + length * sizeof(batch->blocks[0]));
	batch->length = length;
	batch->ends_burst = ends_burst;
	for (uint32_t i = 0; i < length; i++)
		batch->blocks[i] =
			wl_block_make(member->point, &member->sums, wl_random(&member->seed));
	wl_queue_put(&member->pipe->full, &batch->item);
}

static void *produce(void *argument) {
	member_t *member = argument;
	uint64_t in_burst = 0;
	while (member->blocks) {
		uint32_t length = member->batch;
		if (length > member->blocks)
			length = (uint32_t)member->blocks;
		in_burst += length;
		member->blocks -= length;
		bool ends = member->burst && (in_burst >= member->burst || !member->blocks);
		put_batch(member, length, ends);
		if (ends) {
			free(wl_queue_take(&member->pipe->answer));
			in_burst = 0;
		}
	}
	return NULL;
}

/* An empty batch ends the thread. */
static void *consume(void *argument) {
	member_t *member = argument;
	for (bool more = true; more;) {
		batch_t *batch = wl_queue_take(&member->pipe->full);
		more = batch->length > 0;
		for (uint32_t i = 0; i < batch->length; i++)
			wl_block_drop(member->point, &member->sums, batch->blocks[i]);
		if (batch->ends_burst)
			wl_queue_put(&member->pipe->answer, wl_malloc(sizeof(wl_item_t)));
		free(batch);
	}
	return NULL;
}

typedef struct crowd {
	unsigned pipes, producers, consumers;
} crowd_t;

static crowd_t crowd_of(const wl_options_t *options) {
	unsigned threads = options->threads;
	if (!strcmp(options->mode, "spread"))
		return (crowd_t){1, 1, threads};
	if (!strcmp(options->mode, "gather"))
		return (crowd_t){1, threads, 1};
	return (crowd_t){threads, threads, threads};
}

static void run_point(const wl_point_t *point, const crowd_t *crowd, const member_t *model,
		      uint32_t limit, wl_sums_t *sums) {
	static pipe_t pipes[WL_THREADS_MAX];
	static member_t members[2 * WL_THREADS_MAX];
	pthread_t handles[2 * WL_THREADS_MAX];
	for (unsigned i = 0; i < crowd->pipes; i++) {
		wl_queue_init(&pipes[i].full, limit);
		wl_queue_init(&pipes[i].answer, 1);
	}
	unsigned count = crowd->producers + crowd->consumers;
	for (unsigned i = 0; i < count; i++) {
		bool produces = i < crowd->producers;
		members[i] = *model;
		members[i].pipe = &pipes[(produces ? i : i - crowd->producers) % crowd->pipes];
		members[i].seed = wl_thread_seed(point, i);
		handles[i] = wl_thread(produces ? produce : consume, &members[i]);
	}
	for (unsigned i = 0; i < count; i++) {
		if (i >= crowd->producers) /* all producers have ended */
			put_batch(&members[i], 0, false);
		else
			pthread_join(handles[i], NULL);
	}
	for (unsigned i = 0; i < count; i++) {
		if (i >= crowd->producers)
			pthread_join(handles[i], NULL);
		wl_sums_add(sums, &members[i].sums);
	}
}

static void visit(wl_point_t *point, wl_sums_t *sums) {
	const wl_options_t *options = point->options;
	crowd_t crowd = crowd_of(options);
	member_t model = {.point = point};
	model.blocks = wl_operations(point, POINT_OPERATIONS, crowd.producers);
	model.batch = wl_draw(point, BATCH_BLOCKS, 16, 512);
	uint32_t limit = wl_draw(point, QUEUE_BATCHES, 2, 128);
	uint32_t held = wl_bounded(point, limit * model.batch, crowd.pipes);
	char text[120];
	if (!strcmp(options->mode, "bursts")) {
		held = wl_draw(point, BURST_BLOCKS, 1000, 50000);
		model.burst = held = wl_bounded(point, held, crowd.pipes);
		limit = UINT32_MAX;
		snprintf(text, sizeof(text), "bursts of %" PRIu32 " blocks", model.burst);
	} else {
		limit = held / model.batch ? held / model.batch : 1;
		snprintf(text, sizeof(text), "queues of %" PRIu32 " batches of %" PRIu32, limit,
			 model.batch);
	}
	run_point(point, &crowd, &model, limit, sums);
	wl_point_end(point, sums->operations, text);
}

int main(int argc, char **argv) {
	static const char *const modes[] = {"pairs", "spread", "gather", "bursts", NULL};
	wl_options_t options = wl_options(argc, argv, modes);
	return wl_visit(&options, visit);
}
