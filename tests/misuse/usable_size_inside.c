/* SPDX-License-Identifier: MIT
 * usable_size_inside.c -- asks for the size of an address inside a small block. */
#include "misuse.h"

int main(void) {
	char *block = malloc(64);
	announce(block + 16);
	return malloc_usable_size(block + 16) != 0;
}
