/* SPDX-License-Identifier: MIT
 * address_limit.c -- RLIMIT_AS is used up, by small, large and huge blocks and in several threads:
 * each refusal is NULL with ENOMEM, what was given before is intact, and after freeing it goes on.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>

#include "programs.h"

enum { LIMIT_BYTES = 400 << 20, SLOTS = 1 << 20, ROUNDS = 4 };

static void *blocks[SLOTS];
/* The threads wait here until the address space has been used up: their stacks need some of it. */
static pthread_barrier_t exhausted;

/* Fills the address space with blocks of one size, checks them, frees them; returns how many. */
static size_t exhaust(size_t bytes) {
	size_t count = 0;
	while (count < SLOTS) {
		errno = 0;
		size_t *block = malloc(bytes);
		if (!block) {
			MUST(errno == ENOMEM);
			break;
		}
		block[0] = count;
		block[bytes / sizeof(size_t) - 1] = ~count;
		blocks[count++] = block;
	}
	MUST(count < SLOTS);
	/* Every way to ask must refuse in its own manner, and leave the old block alone. */
	errno = 0;
	MUST(calloc(1, 64 << 20) == NULL && errno == ENOMEM);
	void *aligned = &errno;
	MUST(posix_memalign(&aligned, 4096, LIMIT_BYTES) == ENOMEM && aligned == &errno);
	errno = 0;
	MUST(count == 0 || (realloc(blocks[0], LIMIT_BYTES) == NULL && errno == ENOMEM));
	for (size_t i = 0; i < count; i++) {
		size_t *block = blocks[i];
		MUST(block[0] == i && block[bytes / sizeof(size_t) - 1] == ~i);
		free(block);
	}
	return count;
}

/* In several threads at once: refusals race with frees. */
static void *compete(void *argument) {
	unsigned seed = (unsigned)(size_t)argument;
	enum { KEEP = 1024 };
	char *kept[KEEP] = {0};
	pthread_barrier_wait(&exhausted);
	size_t refused = 0;
	for (int i = 0; i < 20000; i++) {
		unsigned slot = (unsigned)rand_r(&seed) % KEEP;
		free(kept[slot]);
		errno = 0;
		size_t bytes = (size_t)rand_r(&seed) % 800000 + 1;
		kept[slot] = malloc(bytes);
		if (!kept[slot]) {
			MUST(errno == ENOMEM);
			refused++;
		} else {
			kept[slot][0] = kept[slot][bytes - 1] = (char)slot;
		}
	}
	for (int i = 0; i < KEEP; i++)
		free(kept[i]);
	return (void *)refused;
}

/* address_limit [exact]: with a record of each block, a block below 64 KiB lies in a slot of up to
 * twice its size, beside records and their copies in the state file. */
int main(int argc, char **argv) {
	(void)argv;
	size_t part = argc > 1 ? 3 : 2;
	must_be_mallow();
	struct rlimit limit = {LIMIT_BYTES, LIMIT_BYTES};
	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
	pthread_t threads[2];
	MUST(pthread_barrier_init(&exhausted, NULL, 3) == 0);
	for (size_t i = 0; i < 2; i++)
		MUST(pthread_create(&threads[i], NULL, compete, (void *)(i + 1)) == 0);
	static const size_t sizes[] = {3 << 20, 30 << 20, 300000, 40000, 4096, 512};
	size_t first[6];
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < 6; i++) {
			size_t count = exhaust(sizes[i]);
			if (round == 0)
				first[i] = count;
			/* What was freed is there for blocks of other sizes again. */
			MUST(count * sizes[i] >= LIMIT_BYTES / part);
			MUST(count >= first[i] / 10 * 9);
		}
	}
	pthread_barrier_wait(&exhausted);
	size_t refused = 0;
	for (int i = 0; i < 2; i++) {
		void *count;
		MUST(pthread_join(threads[i], &count) == 0);
		refused += (size_t)count;
	}
	MUST(refused > 0);
	printf("%zu blocks of 512 bytes, %zu of 30 MiB; %zu refused to the threads\n", first[5],
	       first[1], refused);
	return 0;
}
