/* SPDX-License-Identifier: MIT
 * threads.c MODE -- threads that come and go.  Modes: short (thousands, each with a few hundred
 * blocks it frees), leaving (each leaves its blocks to the main thread, which frees them after its
 * end: memory must not grow), idle (many at once, one small block each: what a thread costs). */
#include "workload.h"

enum { SHORT_THREADS = 12000, SHORT_BLOCKS = 200, LEAVING = 3000, LEFT = 1500, IDLE = 100 };

static void *short_body(void *argument) {
	uint64_t seed = (uint64_t)(uintptr_t)argument, sum = 0;
	unsigned char *blocks[SHORT_BLOCKS];
	for (unsigned i = 0; i < SHORT_BLOCKS; i++)
		blocks[i] = wl_make(wl_skewed_size(&seed, 4, 12), seed >> 48);
	for (unsigned i = 0; i < SHORT_BLOCKS; i++)
		sum += wl_drop(blocks[i]);
	return (void *)(uintptr_t)sum;
}

static uint64_t short_mode(void) {
	uint64_t sum = 0;
	for (unsigned i = 0; i < SHORT_THREADS; i += 2) {
		pthread_t pair[2];
		for (unsigned k = 0; k < 2; k++)
			pair[k] = wl_thread(short_body, (void *)(uintptr_t)(i + k + 1));
		for (unsigned k = 0; k < 2; k++) {
			void *result;
			pthread_join(pair[k], &result);
			sum += (uint64_t)(uintptr_t)result;
		}
	}
	return sum;
}

static void *leaving_body(void *argument) {
	unsigned char **blocks = argument;
	uint64_t seed = 5;
	for (unsigned i = 0; i < LEFT; i++)
		blocks[i] = wl_make(wl_skewed_size(&seed, 4, 11), i);
	return NULL;
}

static uint64_t leaving_mode(void) {
	static unsigned char *blocks[LEFT];
	uint64_t sum = 0;
	for (unsigned i = 0; i < LEAVING; i++) {
		pthread_join(wl_thread(leaving_body, blocks), NULL);
		for (unsigned k = 0; k < LEFT; k++)
			sum += wl_drop(blocks[k]);
	}
	wl_note("after_free_kib", wl_resident_kib());
	return sum;
}

static pthread_barrier_t barrier;

static void *idle_body(void *argument) {
	unsigned char *block = wl_make(64, 1);
	pthread_barrier_wait(&barrier); /* all are there */
	pthread_barrier_wait(&barrier); /* measured */
	(void)argument;
	return (void *)(uintptr_t)wl_drop(block);
}

static uint64_t idle_mode(void) {
	static pthread_t handles[IDLE];
	uint64_t sum = 0, before_kib = wl_resident_kib();
	pthread_barrier_init(&barrier, NULL, IDLE + 1);
	for (unsigned i = 0; i < IDLE; i++)
		handles[i] = wl_thread(idle_body, NULL);
	pthread_barrier_wait(&barrier);
	wl_note("a_thread_kib", (wl_resident_kib() - before_kib) / IDLE);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < IDLE; i++) {
		void *result;
		pthread_join(handles[i], &result);
		sum += (uint64_t)(uintptr_t)result;
	}
	return sum;
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "short";
	if (!strcmp(mode, "leaving"))
		return wl_finish(leaving_mode());
	return wl_finish(!strcmp(mode, "idle") ? idle_mode() : short_mode());
}
