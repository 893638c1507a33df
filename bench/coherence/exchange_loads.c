/* SPDX-License-Identifier: MIT
 * exchange_loads.c LOAD THREADS OPERATIONS BLOCKS -- what moved_lines.c counts: threads that
 * replace random blocks of 8 to 8,191 bytes (nine of ten below 256) among BLOCKS of their own
 * (own); that exchange blocks with a table of all threads (exchange); or of which every second one
 * frees what its neighbour allocates (pairs).  On stdout: the address of malloc, for names of
 * lines. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../workloads/workload.h"
#include "markers.h"

enum { THREADS_MAX = 128, PLACES_EACH = 256, RING_BLOCKS = 256, OWN_LINE = 64 };

static unsigned threads, blocks_each;
static unsigned long operations;
static pthread_barrier_t barrier;

/* A place of the table has a line of its own. */
static struct { _Alignas(OWN_LINE) _Atomic(void *) block; } places[PLACES_EACH * THREADS_MAX];

typedef struct ring {
	_Alignas(OWN_LINE) _Atomic unsigned long made;
	_Alignas(OWN_LINE) _Atomic unsigned long freed;
	_Alignas(OWN_LINE) void *blocks[RING_BLOCKS];
} ring_t;
static ring_t rings[THREADS_MAX / 2];

static void *make(uint64_t *seed) {
	uint32_t percent = wl_below(seed, 100);
	size_t bytes = percent < 90   ? 8 + wl_below(seed, 248)
		       : percent < 99 ? 256 + wl_below(seed, 768)
				      : 1024 + wl_below(seed, 7168);
	unsigned char *block = wl_malloc(bytes);
	*(volatile unsigned char *)block = 1;
	return block;
}

static void own(unsigned thread, uint64_t *seed, void **blocks) {
	(void)thread;
	for (unsigned long i = 0; i < operations; i++) {
		void **slot = &blocks[wl_below(seed, blocks_each)];
		free(*slot);
		*slot = make(seed);
	}
}

static void exchange(unsigned thread, uint64_t *seed, void **blocks) {
	(void)thread, (void)blocks;
	for (unsigned long i = 0; i < operations; i++) {
		void *block = make(seed);
		free(atomic_exchange(&places[wl_below(seed, PLACES_EACH * threads)].block, block));
	}
}

static void pairs(unsigned thread, uint64_t *seed, void **blocks) {
	(void)blocks;
	ring_t *ring = &rings[thread / 2];
	for (unsigned long i = 0; i < operations; i++) {
		if (thread % 2 == 0) {
			void *block = make(seed);
			while (i - ring->freed == RING_BLOCKS)
				__builtin_ia32_pause();
			ring->blocks[i % RING_BLOCKS] = block;
			ring->made = i + 1;
		} else {
			while (ring->made == i)
				__builtin_ia32_pause();
			free(ring->blocks[i % RING_BLOCKS]);
			ring->freed = i + 1;
		}
	}
}

static const struct {
	const char *name;
	void (*run)(unsigned thread, uint64_t *seed, void **blocks);
} loads[] = {{"own", own}, {"exchange", exchange}, {"pairs", pairs}};
static unsigned load;

static void mark(unsigned thread, long call) {
	pthread_barrier_wait(&barrier);
	if (thread == 0)
		syscall(call);
	pthread_barrier_wait(&barrier);
}

static void *work(void *argument) {
	unsigned thread = (unsigned)(uintptr_t)argument;
	uint64_t seed = thread + 1;
	void **blocks = wl_malloc(blocks_each * sizeof *blocks);
	for (unsigned i = 0; i < blocks_each; i++)
		blocks[i] = make(&seed);
	for (unsigned i = 0; loads[load].run == exchange && i < PLACES_EACH; i++)
		places[thread * PLACES_EACH + i].block = make(&seed);
	mark(thread, MARK_COUNT_BEGIN);
	loads[load].run(thread, &seed, blocks);
	mark(thread, MARK_COUNT_END);
	return NULL;
}

int main(int argc, char **argv) {
	while (argc == 5 && load < sizeof loads / sizeof *loads &&
	       strcmp(argv[1], loads[load].name) != 0)
		load++;
	if (argc != 5 || load == sizeof loads / sizeof *loads)
		wl_die("own|exchange|pairs THREADS OPERATIONS BLOCKS");
	threads = wl_argument(argc, argv, 2, 0);
	operations = wl_argument(argc, argv, 3, 0);
	blocks_each = wl_argument(argc, argv, 4, 0);
	if (threads > THREADS_MAX)
		wl_die("too many threads");
	printf("malloc %p\n", (void *)(uintptr_t)malloc);
	fflush(stdout);
	pthread_barrier_init(&barrier, NULL, threads);
	pthread_t handles[THREADS_MAX];
	for (unsigned i = 0; i < threads; i++)
		handles[i] = wl_thread(work, (void *)(uintptr_t)i);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(handles[i], NULL);
	/* At once: what an exit does is not counted, and takes long under qemu. */
	_exit(0);
}
