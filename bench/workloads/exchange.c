/* SPDX-License-Identifier: MIT
 * exchange.c MODE -- threads that put blocks where other threads find and free them.  Modes: table
 * (sizes to 16 KiB, each block swapped into a random place of one shared table), rounds (threads
 * that start anew every round, keep some blocks over it, and swap some with others), wide (the same
 * with all sizes to 16 KiB alike, and few rounds). */
#include "workload.h"

#include <stdatomic.h>
#include <stdbool.h>

enum {
	THREADS = 4,
	SHARED = 4096,
	TABLE_TURNS = 1000000,
	ROUNDS = 30,
	ROUND_TURNS = 60000,
	KEPT = 3000,
	WIDE_ROUNDS = 3,
	WIDE_BYTES = 16000
};

typedef struct block {
	uint64_t bytes;
	unsigned char body[];
} block_t;

/* Acquire and release on the exchange: it hands the block's contents over. */
static _Atomic(block_t *) shared[SHARED];

typedef struct task {
	WL_OWN_LINES uint64_t seed;
	uint64_t made, dropped;
	bool wide;
	block_t **kept; /* outlives the round's thread */
} task_t;

static block_t *make_block(task_t *task, unsigned largest_log2) {
	size_t bytes = task->wide ? 1 + wl_below(&task->seed, WIDE_BYTES)
				  : wl_skewed_size(&task->seed, 4, largest_log2);
	block_t *block = wl_malloc(sizeof(*block) + bytes);
	block->bytes = bytes;
	block->body[bytes - 1] = (unsigned char)bytes;
	task->made += bytes;
	return block;
}

static void drop_block(task_t *task, block_t *block) {
	if (!block)
		return;
	if (block->body[block->bytes - 1] != (unsigned char)block->bytes)
		wl_die("a block lost its contents");
	task->dropped += block->bytes;
	free(block);
}

static block_t *swap_shared(task_t *task, block_t *block) {
	return atomic_exchange_explicit(&shared[wl_below(&task->seed, SHARED)], block,
					memory_order_acq_rel);
}

static void *table_thread(void *argument) {
	task_t *task = argument;
	for (unsigned i = 0; i < TABLE_TURNS; i++) {
		drop_block(task, swap_shared(task, make_block(task, 14)));
		drop_block(task, make_block(task, 10));
	}
	return NULL;
}

static void *round_thread(void *argument) {
	task_t *task = argument;
	for (unsigned i = 0; i < ROUND_TURNS; i++) {
		block_t **slot = &task->kept[wl_below(&task->seed, KEPT)];
		drop_block(task, *slot);
		*slot = make_block(task, 12);
		if (i % 8 == 0)
			*slot = swap_shared(task, *slot);
	}
	return NULL;
}

static void run_threads(task_t *tasks, void *(*body)(void *)) {
	pthread_t handles[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		handles[i] = wl_thread(body, &tasks[i]);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(handles[i], NULL);
}

/* Which thread frees what depends on timing; that all is freed, and how much there was, does not.
 */
int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "table";
	bool wide = !strcmp(mode, "wide");
	unsigned rounds = wide ? WIDE_ROUNDS : strcmp(mode, "rounds") ? 0 : ROUNDS;
	task_t tasks[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		tasks[i] = (task_t){i + 1, 0, 0, wide, wl_check(calloc(KEPT, sizeof(block_t *)))};
	if (rounds == 0)
		run_threads(tasks, table_thread);
	for (unsigned round = 0; round < rounds; round++)
		run_threads(tasks, round_thread);
	for (unsigned i = 0; i < SHARED; i++)
		drop_block(&tasks[0], atomic_load(&shared[i]));
	uint64_t made = 0, dropped = 0;
	for (unsigned i = 0; i < THREADS; i++) {
		for (unsigned k = 0; k < KEPT; k++)
			drop_block(&tasks[i], tasks[i].kept[k]);
		free(tasks[i].kept);
		made += tasks[i].made;
		dropped += tasks[i].dropped;
	}
	if (made != dropped)
		wl_die("blocks were lost");
	wl_note("after_free_kib", wl_resident_kib());
	return wl_finish(made);
}
