/* SPDX-License-Identifier: MIT
 * write_after_free_large.c -- writes to the second word of a freed block of several slices. */
#include "misuse.h"

enum { BLOCKS = 40, BLOCK_BYTES = 262144 };

int main(void) {
	static void *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BLOCK_BYTES);
	long *block = blocks[0];
	announce(block);
	free(block);
	((volatile long *)block)[1] = 1;
	for (int i = 1; i < BLOCKS; i++)
		free(blocks[i]);
	return 0;
}
