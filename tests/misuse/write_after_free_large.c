/* SPDX-License-Identifier: MIT
 * write_after_free_large.c -- writes to the second word of a freed block of several slices that the
 * hardened library could not close: so many large blocks are in use that their guard pages would
 * take the mappings that the program needs. */
#include "misuse.h"

enum { BLOCKS = 8300, BLOCK_BYTES = 70000 };

int main(void) {
	static void *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BLOCK_BYTES);
	long *block = blocks[BLOCKS - 1];
	announce(block);
	free(block);
	((volatile long *)block)[1] = 1;
	for (int i = 0; i < BLOCKS - 1; i++)
		free(blocks[i]);
	return 0;
}
