/* SPDX-License-Identifier: MIT
 * slots.c THREADS MODE -- each thread replaces random ones of its own slots.  Modes: skewed (8
 * bytes to 4 KiB, small ones likelier), tiny (16 to 512 bytes in few slots), any (each size up to
 * 16 KiB as likely), wide (16 bytes to 64 KiB, half of the
 * bytes in the largest), runs (32 slots in a row freed, then made
 * again). */
#include "workload.h"

typedef struct task {
	WL_OWN_LINES const char *mode;
	uint64_t seed, sum;
	unsigned turns, slots;
} task_t;

static size_t pick_size(task_t *task) {
	switch (task->mode[0]) {
	case 't':
		return 16 + wl_below(&task->seed, 496);
	case 'a':
		return 1 + wl_below(&task->seed, 16384);
	case 'w':
		return wl_wide_size(&task->seed, 4, 16);
	default:
		return wl_skewed_size(&task->seed, 3, 12);
	}
}

static void replace(task_t *task, unsigned char **slot) {
	if (*slot)
		task->sum += wl_drop(*slot);
	*slot = wl_make(pick_size(task), task->seed >> 56);
}

static void replace_run(task_t *task, unsigned char **slots, unsigned first) {
	for (unsigned i = first; i < first + 32; i++)
		if (slots[i])
			task->sum += wl_drop(slots[i]);
	for (unsigned i = first; i < first + 32; i++)
		slots[i] = wl_make(pick_size(task), task->seed >> 56);
}

static void *work(void *argument) {
	task_t *task = argument;
	unsigned char **slots = wl_check(calloc(task->slots, sizeof(*slots)));
	if (task->mode[0] == 'r')
		for (unsigned i = 0; i < task->turns; i += 32)
			replace_run(task, slots, wl_below(&task->seed, task->slots / 32) * 32);
	else
		for (unsigned i = 0; i < task->turns; i++)
			replace(task, &slots[wl_below(&task->seed, task->slots)]);
	for (unsigned i = 0; i < task->slots; i++)
		if (slots[i])
			task->sum += wl_drop(slots[i]);
	free(slots);
	return NULL;
}

int main(int argc, char **argv) {
	enum { THREADS_MAX = 64 };
	unsigned threads = wl_argument(argc, argv, 1, 1);
	const char *mode = argc > 2 ? argv[2] : "skewed";
	if (threads == 0 || threads > THREADS_MAX)
		wl_die("1 to 64 threads");
	unsigned turns = mode[0] == 'a' ? 3000000 : mode[0] == 'w' ? 4000000 : 16000000;
	unsigned slots = mode[0] == 't' ? 1024 : mode[0] == 'a' || mode[0] == 'w' ? 4096 : 16384;
	task_t tasks[THREADS_MAX];
	pthread_t handles[THREADS_MAX];
	uint64_t sum = 0;
	for (unsigned i = 0; i < threads; i++) {
		tasks[i] = (task_t){mode, i + 1, 0, turns / (threads > 1 ? 2 : 1), slots};
		handles[i] = wl_thread(work, &tasks[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(handles[i], NULL);
		sum += tasks[i].sum;
	}
	return wl_finish(sum);
}
