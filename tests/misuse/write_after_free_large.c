/* SPDX-License-Identifier: MIT
 * write_after_free_large.c -- writes to the second word of a freed block of several slices that the
 * hardened library could not close: so many large blocks are in use that their guard pages would
 * take the mappings that the program needs. How many it closes in a time is limited, too; on a busy
 * machine it closes some that are freed, so one is taken that it did not. */
#include <stdbool.h>
#include <unistd.h>

#include "misuse.h"

enum { BLOCKS = 8300, BLOCK_BYTES = 70000 };

static bool is_open(const void *block) {
	int ends[2];
	if (pipe(ends) != 0)
		return false;
	bool is_read = write(ends[1], block, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return is_read;
}

int main(void) {
	static void *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BLOCK_BYTES);
	int last = BLOCKS - 1;
	for (; last > 0; last--) {
		free(blocks[last]);
		if (is_open(blocks[last]))
			break;
	}
	announce(blocks[last]);
	((volatile long *)blocks[last])[1] = 1;
	for (int i = 0; i < last; i++)
		free(blocks[i]);
	return 0;
}
