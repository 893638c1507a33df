/* SPDX-License-Identifier: MIT
 * double_free_emptied.c -- frees more blocks of a page than were made of it. */
#include "misuse.h"

int main(void) {
	enum { BLOCKS = 4 }; /* as many as a refill brings of this size */
	void *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(896);
	announce(blocks[0]);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	free(blocks[0]);
	return 0;
}
