/* SPDX-License-Identifier: MIT
 * overrun_byte.c -- writes one byte, the end of a string, behind what it asked for. */
#include "misuse.h"

int main(void) {
	char *block = malloc(50);
	announce(block);
	block[50] = 0;
	free(block);
	return 0;
}
