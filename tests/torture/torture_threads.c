/* SPDX-License-Identifier: MIT
 * torture_threads.c -- threads that allocate, resize and free each other's blocks under a shadow
 * model: no two live blocks overlap, contents stay, calloc's memory is zero, alignments hold,
 * usable sizes are honest.  Threads end and are made again all the time.
 *
 * Usage: torture_threads SECONDS [SEED [THREADS]]; the seed is printed, and fixes each thread's
 * choices.  MALLOW_TEST_SECONDS in the environment is the most seconds that it runs. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shadow.h"

enum { SLOTS = 4096, STEPS_PER_THREAD = 20000, THREADS_MAX = 64 };

/* A block and what is known of it; whoever holds `busy` may look and change. */
typedef struct slot {
	atomic_flag busy;
	unsigned char *block;
	size_t bytes;
	size_t usable_bytes; /* what the shadow map was told */
	size_t align;        /* as requested; 0: by malloc's rules */
	uint64_t seed;
} slot_t;

static slot_t slots[SLOTS];
static _Atomic uint64_t steps_done;
static atomic_bool time_over;

typedef struct random {
	uint64_t state;
} random_t;

/* splitmix64 */
static uint64_t draw(random_t *random) {
	uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static size_t below(random_t *random, size_t limit) {
	return (size_t)(draw(random) % limit);
}

/* Mostly small, as programs are; every size class and kind of block within seconds. */
static size_t draw_bytes(random_t *random) {
	size_t kind = below(random, 1000);
	if (kind < 700)
		return below(random, 257);
	if (kind < 920)
		return below(random, 8 << 10);
	if (kind < 985)
		return below(random, 128 << 10);
	if (kind < 999)
		return below(random, 2 << 20);
	return below(random, 12 << 20);
}

/* The block in the slot is new: claims and fills it. */
static void store_block(slot_t *slot, void *block, size_t bytes, size_t align, uint64_t seed) {
	TORTURE_MUST(block != NULL);
	size_t least = align ? align : bytes < 16 ? 8 : 16;
	TORTURE_MUST(((uintptr_t)block & (least - 1)) == 0);
	slot->block = block;
	slot->bytes = bytes;
	slot->align = align;
	slot->seed = seed;
	slot->usable_bytes = malloc_usable_size(block);
	TORTURE_MUST(slot->usable_bytes >= bytes);
	shadow_claim(block, slot->usable_bytes ? slot->usable_bytes : 1);
	pattern_fill(block, bytes, seed);
}

static void disown(slot_t *slot) {
	pattern_check(slot->block, slot->bytes, slot->seed);
	TORTURE_MUST(malloc_usable_size(slot->block) == slot->usable_bytes);
	shadow_release(slot->block, slot->usable_bytes ? slot->usable_bytes : 1);
}

#ifdef TORTURE_STATIC
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t align, size_t bytes);
#else
/* C23's, which this libc does not have: the preloaded library's are found by name. */
#include <dlfcn.h>
static void free_sized(void *block, size_t bytes) {
	void (*function)(void *, size_t);
	*(void **)&function = dlsym(RTLD_DEFAULT, "free_sized");
	function(block, bytes);
}
static void free_aligned_sized(void *block, size_t align, size_t bytes) {
	void (*function)(void *, size_t, size_t);
	*(void **)&function = dlsym(RTLD_DEFAULT, "free_aligned_sized");
	function(block, align, bytes);
}
#endif

static void release(slot_t *slot, random_t *random) {
	disown(slot);
	bool sized = below(random, 16) == 0;
	/* free_sized() is not for aligned blocks, and free_aligned_sized() for no others. */
	if (sized && slot->align)
		free_aligned_sized(slot->block, slot->align, slot->bytes);
	else if (sized)
		free_sized(slot->block, slot->bytes);
	else
		free(slot->block);
	slot->block = NULL;
}

static void *allocate_aligned(random_t *random, size_t bytes, size_t align) {
	void *block = NULL;
	switch (below(random, 3)) {
	case 0:
		TORTURE_MUST(posix_memalign(&block, align, bytes) == 0);
		return block;
	case 1:
		return memalign(align, bytes);
	default:
		return aligned_alloc(align, bytes);
	}
}

static void fill_slot(slot_t *slot, random_t *random) {
	size_t bytes = draw_bytes(random), align = 0;
	void *block;
	size_t way = below(random, 100);
	if (way < 60) {
		block = malloc(bytes);
	} else if (way < 80) {
		block = calloc(bytes ? 1 + bytes / 7 : 1, bytes ? 7 : 0);
		bytes = bytes ? (1 + bytes / 7) * 7 : 0;
		zero_check(block, bytes);
	} else if (way < 95) {
		align = (size_t)8 << below(random, way < 90 ? 10 : 19);
		bytes = bytes % (256 << 10);
		block = allocate_aligned(random, bytes, align);
	} else if (way < 97) {
		block = realloc(NULL, bytes);
	} else {
		block = reallocarray(NULL, bytes, 1);
	}
	store_block(slot, block, bytes, align, draw(random));
}

static void resize_slot(slot_t *slot, random_t *random) {
	size_t bytes = draw_bytes(random) + 1;
	/* Near the old size now and then: in place, or just not. */
	if (below(random, 2) == 0)
		bytes = slot->bytes + below(random, 64) + 1;
	uint64_t seed = slot->seed;
	size_t kept = bytes < slot->bytes ? bytes : slot->bytes;
	bool sparse_before = slot->bytes > 64 << 10;
	disown(slot);
	unsigned char *block = realloc(slot->block, bytes);
	TORTURE_MUST(block != NULL);
	/* A large block was filled at the start of its pages only: its prefix is looked at there.
	 */
	if (sparse_before)
		kept = (kept - 1) / 4096 * 4096 + 1;
	if (!sparse_before || kept > 64 << 10)
		pattern_check(block, kept, seed);
	store_block(slot, block, bytes, 0, seed);
}

static void refuse(void) {
	static volatile size_t too_much = PTRDIFF_MAX;
	errno = 0;
	TORTURE_MUST(malloc(too_much) == NULL && errno == ENOMEM);
	errno = 0;
	TORTURE_MUST(calloc(too_much, 4) == NULL && errno == ENOMEM);
	errno = 0;
	TORTURE_MUST(reallocarray(NULL, too_much, 4) == NULL && errno == ENOMEM);
	void *block = NULL;
	TORTURE_MUST(posix_memalign(&block, 24, 64) == EINVAL && block == NULL);
}

static void step(random_t *random) {
	slot_t *slot = &slots[below(random, SLOTS)];
	/* Pairs with the release of whoever held the slot before. */
	if (atomic_flag_test_and_set_explicit(&slot->busy, memory_order_acquire))
		return;
	size_t action = below(random, 10);
	if (!slot->block)
		fill_slot(slot, random);
	else if (action < 2)
		resize_slot(slot, random);
	else if (action < 3)
		pattern_check(slot->block, slot->bytes, slot->seed);
	else
		release(slot, random);
	/* Pairs with the acquire above, in another thread. */
	atomic_flag_clear_explicit(&slot->busy, memory_order_release);
}

static void *work(void *argument) {
	random_t random = {(uint64_t)(uintptr_t)argument};
	int steps = 0;
	while (steps < STEPS_PER_THREAD &&
	       !atomic_load_explicit(&time_over, memory_order_relaxed)) {
		step(&random);
		steps++;
		if (steps % 4096 == 0)
			refuse();
	}
	atomic_fetch_add(&steps_done, (uint64_t)steps);
	return NULL;
}

static double seconds_now(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
	double limit = argc > 1 ? atof(argv[1]) : 5;
	const char *most = getenv("MALLOW_TEST_SECONDS");
	if (most && atof(most) < limit)
		limit = atof(most);
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	int threads = argc > 3 ? atoi(argv[3]) : 6;
	TORTURE_MUST(threads > 0 && threads <= THREADS_MAX);
	printf("seed %llu, %d threads\n", (unsigned long long)seed, threads);
	fflush(stdout);
	shadow_init();

	random_t seeds = {seed};
	pthread_t running[THREADS_MAX];
	uint64_t made = 0;
	double start = seconds_now();
	for (int i = 0; i < threads; i++, made++)
		TORTURE_MUST(pthread_create(&running[i], NULL, work, (void *)draw(&seeds)) == 0);
	/* One after the other is waited for and replaced. */
	for (int i = 0; seconds_now() - start < limit; i = (i + 1) % threads, made++) {
		TORTURE_MUST(pthread_join(running[i], NULL) == 0);
		TORTURE_MUST(pthread_create(&running[i], NULL, work, (void *)draw(&seeds)) == 0);
	}
	atomic_store(&time_over, true);
	for (int i = 0; i < threads; i++)
		TORTURE_MUST(pthread_join(running[i], NULL) == 0);

	uint64_t left = 0;
	for (int i = 0; i < SLOTS; i++) {
		if (!slots[i].block)
			continue;
		left++;
		disown(&slots[i]);
		free(slots[i].block);
	}
	TORTURE_MUST(shadow_claimed() == 0);
	printf("%llu steps in %llu threads, %llu blocks left at the end\n",
	       (unsigned long long)steps_done, (unsigned long long)made, (unsigned long long)left);
	return 0;
}
