/* SPDX-License-Identifier: MIT
 * inside_small.c -- frees an address inside a small block. */
#include "misuse.h"

int main(void) {
	char *block = malloc(64);
	announce(block + 16);
	free(block + 16);
	return 0;
}
