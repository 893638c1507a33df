/* SPDX-License-Identifier: MIT
 * address_reuse.c -- under RLIMIT_AS, address space that small blocks used serves huge blocks, a
 * growing block and a thread's stack once the small ones are free; then small ones again. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "programs.h"

enum { LIMIT_BYTES = 420 << 20, SMALL_BYTES = 250 << 20, HUGE_BYTES = 100 << 20, ROUNDS = 3 };
enum { KEPT = 512, THREADS = 2 };

static void **blocks;
static _Atomic bool ended;

/* Fills and frees; blocks of 24 bytes to 20,000. */
static void small_blocks(unsigned seed) {
	size_t count = 0, total = 0;
	while (total < SMALL_BYTES) {
		size_t bytes = 24u << (unsigned)rand_r(&seed) % 10;
		char *block = malloc(bytes);
		MUST(block != NULL);
		memset(block, (int)count, bytes);
		blocks[count++] = block;
		total += bytes;
	}
	for (size_t i = 0; i < count; i++) {
		MUST(*(unsigned char *)blocks[i] == (unsigned char)i);
		free(blocks[i]);
	}
}

static char *huge_block(void) {
	char *huge = malloc(HUGE_BYTES);
	MUST(huge != NULL);
	for (size_t i = 0; i < HUGE_BYTES; i += 4096)
		huge[i] = 1;
	return huge;
}

static void *touch_stack(void *argument) {
	return argument;
}

static void thread_with_stack(size_t bytes) {
	pthread_attr_t attributes;
	pthread_t thread;
	MUST(pthread_attr_init(&attributes) == 0);
	MUST(pthread_attr_setstacksize(&attributes, bytes) == 0);
	MUST(pthread_create(&thread, &attributes, touch_stack, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
}

/* Allocates all the time while chunks come and go. */
static void *churn(void *argument) {
	unsigned seed = (unsigned)(size_t)argument;
	unsigned char *kept[KEPT] = {0};
	while (!atomic_load(&ended)) {
		unsigned slot = (unsigned)rand_r(&seed) % KEPT;
		MUST(!kept[slot] || *kept[slot] == (unsigned char)slot);
		free(kept[slot]);
		kept[slot] = malloc(16 + (unsigned)rand_r(&seed) % 8000);
		MUST(kept[slot] != NULL);
		*kept[slot] = (unsigned char)slot;
	}
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	return NULL;
}

int main(void) {
	must_be_mallow();
	size_t table_bytes = SMALL_BYTES / 24 * sizeof(void *);
	blocks = mmap(NULL, table_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	MUST(blocks != MAP_FAILED);
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
	struct rlimit limit = {LIMIT_BYTES + table_bytes, LIMIT_BYTES + table_bytes};
	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		small_blocks(round);
		free(huge_block());
		small_blocks(round + 100);
		/* A block that grows in its place, or moves. */
		char *growing = malloc(8 << 20);
		MUST(growing != NULL);
		growing[0] = 7;
		growing = realloc(growing, HUGE_BYTES + (HUGE_BYTES >> 1));
		MUST(growing != NULL && growing[0] == 7);
		free(growing);
		small_blocks(round + 200);
		malloc_trim(0);
		thread_with_stack(HUGE_BYTES);
	}
	atomic_store(&ended, true);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	small_blocks(0);
	free(huge_block());
	return 0;
}
