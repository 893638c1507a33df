/* SPDX-License-Identifier: MIT
 * overrun_word.c -- writes one byte behind a block that has no byte to spare. */
#include "misuse.h"

int main(void) {
	char *block = malloc(56);
	announce(block);
	block[56] = 0;
	return realloc(block, 500) != NULL;
}
