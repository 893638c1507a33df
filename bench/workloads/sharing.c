/* SPDX-License-Identifier: MIT
 * sharing.c MODE -- do blocks of different threads lie in one cache line?  Modes: active (each
 * thread makes its own small blocks and writes to them), passive (the blocks are made by one
 * thread, given to the others, freed there, and made anew). */
#include "workload.h"

#include <stdbool.h>

enum { THREADS = 4, TURNS = 80000, WRITES = 1000, BYTES = 8 };

typedef struct task {
	WL_OWN_LINES volatile unsigned char *given;
	uint64_t sum;
} task_t;

static void *work(void *argument) {
	task_t *task = argument;
	if (task->given)
		free((void *)task->given);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		volatile unsigned char *block = wl_malloc(BYTES);
		for (unsigned i = 0; i < BYTES; i++)
			block[i] = 0;
		for (unsigned i = 0; i < WRITES; i++)
			block[i % BYTES]++;
		task->sum += block[0];
		free((void *)block);
	}
	return NULL;
}

int main(int argc, char **argv) {
	bool passive = argc > 1 && !strcmp(argv[1], "passive");
	task_t tasks[THREADS];
	pthread_t handles[THREADS];
	uint64_t sum = 0;
	for (unsigned i = 0; i < THREADS; i++)
		tasks[i] = (task_t){passive ? wl_malloc(BYTES) : NULL, 0};
	for (unsigned i = 0; i < THREADS; i++)
		handles[i] = wl_thread(work, &tasks[i]);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(handles[i], NULL);
		sum += tasks[i].sum;
	}
	return wl_finish(sum);
}
