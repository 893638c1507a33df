/* SPDX-License-Identifier: MIT
 * double_free_huge.c -- frees a block with a mapping of its own, twice. */
#include "misuse.h"

int main(void) {
	void *block = malloc(67108864);
	announce(block);
	free(block);
	free(block);
	return 0;
}
