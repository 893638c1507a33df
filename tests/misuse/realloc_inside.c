/* SPDX-License-Identifier: MIT
 * realloc_inside.c -- resizes an address inside a small block. */
#include "misuse.h"

int main(void) {
	char *block = malloc(64);
	announce(block + 16);
	return realloc(block + 16, 1000) != NULL;
}
