/* SPDX-License-Identifier: MIT
 * double_free_unmapped.c -- frees a block of several slices twice; its chunk was given back to the
 * kernel in between. */
#include "misuse.h"

enum { BLOCKS = 200, BLOCK_BYTES = 262144 };

int main(void) {
	static void *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BLOCK_BYTES);
	void *block = blocks[BLOCKS / 2];
	announce(block);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	malloc_trim(0);
	free(block);
	return 0;
}
