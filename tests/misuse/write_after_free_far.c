/* SPDX-License-Identifier: MIT
 * write_after_free_far.c -- writes to the middle of a long block that it freed; run with
 * fill_freed:true, found when the block is to be handed out again. */
#include "misuse.h"

/* More than the quarantine holds, and than the lists of the class. */
enum { BYTES = 3000, BLOCKS = 2000 };

int main(void) {
	char *block = malloc(BYTES);
	announce(block);
	free(block);
	block[BYTES / 2] = 1;
	for (int i = 0; i < BLOCKS; i++)
		free(malloc(BYTES));
	return 0;
}
