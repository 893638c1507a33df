/* SPDX-License-Identifier: MIT
 * phases.c -- does as it is told on standard input, a letter at a time, and answers each with a
 * line: 'a' and 'b' allocate 64 blocks of 4 KiB each from a function of their own and keep them,
 * 'f' frees them all, 't' allocates and frees a little (so that requests are seen). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 64, BLOCK_BYTES = 4096, KEPT_MAX = 4096 };

static void *kept[KEPT_MAX];
static size_t kept_count;

static void keep(void *block) {
	if (kept_count < KEPT_MAX)
		kept[kept_count++] = memset(block, 1, BLOCK_BYTES);
}

static __attribute__((noinline)) void phase_a(void) {
	for (int i = 0; i < BLOCKS; i++)
		keep(malloc(BLOCK_BYTES));
}

static __attribute__((noinline)) void phase_b(void) {
	for (int i = 0; i < BLOCKS; i++)
		keep(malloc(BLOCK_BYTES));
}

static __attribute__((noinline)) void phase_touch(void) {
	/* More than a list of any class holds: each class is refilled. */
	for (size_t bytes = 16; bytes <= 8192; bytes *= 2) {
		void *volatile blocks[2048];
		for (int i = 0; i < 2048; i++)
			blocks[i] = malloc(bytes);
		for (int i = 0; i < 2048; i++)
			free(blocks[i]);
	}
}

int main(void) {
	char letter;
	while (read(0, &letter, 1) == 1) {
		switch (letter) {
		case 'a':
			phase_a();
			break;
		case 'b':
			phase_b();
			break;
		case 't':
			phase_touch();
			break;
		case 'f':
			while (kept_count > 0)
				free(kept[--kept_count]);
			break;
		default:
			continue;
		}
		if (write(1, "done\n", 5) != 5)
			return 1;
	}
	return 0;
}
