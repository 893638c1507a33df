/* SPDX-License-Identifier: MIT
 * stacks.c -- allocates by some hundred stacks, the same in every run, for a comparison of heap
 * profiles.  Sizes are unlike for each stack. */
#include <stdlib.h>
#include <string.h>

#define DEPTH 6
#define BLOCKS 8

static void *volatile kept[1 << DEPTH][BLOCKS];

static __attribute__((noinline)) void allocate(unsigned path) {
	for (unsigned i = 0; i < BLOCKS; i++) {
		void *block = malloc(16 + 24 * path + i * path);
		if (i % 3 == 0)
			free(block);
		else if (i % 3 == 1)
			kept[path][i] = realloc(block, 5000 + path);
		else
			kept[path][i] = block;
	}
	void *zeroed = calloc(path + 1, 8);
	if (path % 2)
		free(zeroed);
	else
		kept[path][0] = zeroed;
}

static __attribute__((noinline)) void walk(unsigned depth, unsigned path) {
	if (depth == 0) {
		allocate(path);
		return;
	}
	/* Two calls, so that each path has return addresses of its own. */
	if (depth % 2) {
		walk(depth - 1, path * 2);
		walk(depth - 1, path * 2 + 1);
	} else {
		walk(depth - 1, path * 2 + 1);
		walk(depth - 1, path * 2);
	}
	__asm__ volatile("" ::: "memory");
}

int main(void) {
	walk(DEPTH, 0);
	for (unsigned path = 0; path < 1 << DEPTH; path += 5)
		for (unsigned i = 0; i < BLOCKS; i++) {
			free(kept[path][i]);
			kept[path][i] = NULL;
		}
	return 0;
}
