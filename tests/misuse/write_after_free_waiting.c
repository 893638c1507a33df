/* SPDX-License-Identifier: MIT
 * write_after_free_waiting.c -- writes to the first word of a freed block above 1 KiB, which waits
 * in the quarantine then, and goes on. */
#include "misuse.h"

enum { BLOCKS = 400, BLOCK_BYTES = 3000 };

int main(void) {
	static void *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BLOCK_BYTES);
	char *block = blocks[0];
	announce(block);
	free(block);
	*(volatile long *)block = 1;
	for (int i = 1; i < BLOCKS; i++)
		free(blocks[i]);
	return 0;
}
