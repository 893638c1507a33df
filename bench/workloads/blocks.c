/* SPDX-License-Identifier: MIT
 * blocks.c THREADS -- each thread makes many blocks of mixed small sizes in groups of one size,
 * frees every other one, fills the holes with other sizes, and frees everything from the middle
 * outwards. */
#include "workload.h"

enum { BLOCKS = 30000, ROUNDS = 100, GROUP = 50 };

typedef struct task {
	WL_OWN_LINES uint64_t seed;
	uint64_t sum;
	unsigned rounds;
} task_t;

static void one_round(task_t *task, unsigned char **blocks) {
	size_t bytes = 8;
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (i % GROUP == 0)
			bytes = 8 + wl_below(&task->seed, 50) * (i % 3 ? 8 : 20);
		blocks[i] = wl_make(bytes, i);
	}
	for (unsigned i = 0; i < BLOCKS; i += 2)
		task->sum += wl_drop(blocks[i]);
	for (unsigned i = 0; i < BLOCKS; i += 2)
		blocks[i] = wl_make(8 + wl_below(&task->seed, 400), i);
	for (unsigned i = 0; i < BLOCKS / 2; i++) {
		task->sum += wl_drop(blocks[BLOCKS / 2 + i]);
		task->sum += wl_drop(blocks[BLOCKS / 2 - 1 - i]);
	}
}

static void *work(void *argument) {
	task_t *task = argument;
	unsigned char **blocks = wl_malloc(BLOCKS * sizeof(*blocks));
	for (unsigned round = 0; round < task->rounds; round++)
		one_round(task, blocks);
	free(blocks);
	return NULL;
}

int main(int argc, char **argv) {
	enum { THREADS_MAX = 64 };
	unsigned threads = wl_argument(argc, argv, 1, 1);
	if (threads == 0 || threads > THREADS_MAX)
		wl_die("1 to 64 threads");
	task_t tasks[THREADS_MAX];
	pthread_t handles[THREADS_MAX];
	uint64_t sum = 0;
	for (unsigned i = 0; i < threads; i++) {
		tasks[i] = (task_t){i + 1, 0, threads > 1 ? ROUNDS * 3 / 2 / threads : ROUNDS};
		handles[i] = wl_thread(work, &tasks[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(handles[i], NULL);
		sum += tasks[i].sum;
	}
	return wl_finish(sum);
}
