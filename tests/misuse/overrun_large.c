/* SPDX-License-Identifier: MIT
 * overrun_large.c -- writes a word behind a large block. */
#include "misuse.h"

int main(void) {
	char *block = malloc(200000);
	announce(block);
	*(long *)(void *)(block + 200000) = 1;
	free(block);
	return 0;
}
