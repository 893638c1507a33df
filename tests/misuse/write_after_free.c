/* SPDX-License-Identifier: MIT
 * write_after_free.c -- writes to a block that it freed; found when the block is to be handed out
 * again. */
#include "misuse.h"

/* More than the quarantine holds, and than the lists of the class. */
enum { BLOCKS = 20000 };

int main(void) {
	char *block = malloc(64);
	announce(block);
	free(block);
	block[24] = 1;
	for (int i = 0; i < BLOCKS; i++)
		free(malloc(64));
	return 0;
}
