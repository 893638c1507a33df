/* SPDX-License-Identifier: MIT
 * overrun_skipping.c -- writes past the end of a block, but not to the eight bytes right behind. */
#include "misuse.h"

int main(void) {
	char *block = malloc(3000);
	announce(block);
	/* Changes the byte: a 1 may be what lies there (doc/user/safety.md). */
	((volatile char *)block)[3000 + 16] ^= 1;
	free(block);
	return 0;
}
