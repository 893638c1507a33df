/* SPDX-License-Identifier: MIT
 * inside_large.c -- frees an address inside a large block. */
#include "misuse.h"

int main(void) {
	char *block = malloc(262144);
	announce(block + 4096);
	free(block + 4096);
	return 0;
}
