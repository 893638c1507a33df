/* SPDX-License-Identifier: MIT
 * realloc_freed.c -- resizes a block that was freed. */
#include "misuse.h"

int main(void) {
	void *block = malloc(64), *other = malloc(64);
	announce(block);
	free(block);
	free(other);
	return realloc(block, 60) == NULL;
}
