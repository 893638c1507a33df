/* SPDX-License-Identifier: MIT
 * overrun_byte.c -- changes one byte behind what it asked for. */
#include "misuse.h"

int main(void) {
	char *block = malloc(50);
	announce(block);
	block[50] ^= 1; /* a 0 may be what lies there: doc/user/safety.md */
	free(block);
	return 0;
}
