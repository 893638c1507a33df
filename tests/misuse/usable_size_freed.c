/* SPDX-License-Identifier: MIT
 * usable_size_freed.c -- asks for the size of a block that was freed. */
#include "misuse.h"

int main(void) {
	void *block = malloc(3000);
	announce(block);
	free(block);
	return malloc_usable_size(block) > 0;
}
