/* SPDX-License-Identifier: MIT
 * underrun_medium.c -- writes to the byte before a block above 1 KiB: the last one of the block
 * before it, which does not use it, and which is freed then. */
#include "misuse.h"

enum { BLOCKS = 200, BLOCK_BYTES = 3000, CLASS_BYTES = 3072 };

int main(void) {
	static char *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BLOCK_BYTES);
	for (int i = 0; i < BLOCKS; i++)
		for (int k = 0; k < BLOCKS; k++)
			if (blocks[k] == blocks[i] + CLASS_BYTES) {
				announce(blocks[i]);
				((volatile char *)blocks[k])[-1] ^= 1;
				free(blocks[i]);
				return 0;
			}
	return 0;
}
