/* SPDX-License-Identifier: MIT
 * overrun_medium.c -- changes one byte behind what it asked for, a whole page before its block
 * ends.
 */
#include "misuse.h"

int main(void) {
	char *block = malloc(50000);
	announce(block);
	block[50000] ^= 1;
	free(block);
	return 0;
}
