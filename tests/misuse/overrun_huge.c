/* SPDX-License-Identifier: MIT
 * overrun_huge.c -- writes a word behind a huge block. */
#include "misuse.h"

int main(void) {
	char *block = malloc(67108864);
	announce(block);
	*(long *)(void *)(block + 67108864) = 1;
	free(block);
	return 0;
}
