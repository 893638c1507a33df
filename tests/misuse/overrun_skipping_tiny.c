/* SPDX-License-Identifier: MIT
 * overrun_skipping_tiny.c -- writes past the end of a block of up to 1 KiB, behind the first eight
 * bytes and before the last word. */
#include "misuse.h"

int main(void) {
	char *block = malloc(700);
	announce(block);
	/* Changes the byte: a 1 may be what lies there (doc/user/safety.md). */
	((volatile char *)block)[700 + 8] ^= 1;
	free(block);
	return 0;
}
