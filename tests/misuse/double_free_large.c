/* SPDX-License-Identifier: MIT
 * double_free_large.c -- frees a block of several slices, twice. */
#include "misuse.h"

int main(void) {
	void *block = malloc(262144);
	announce(block);
	free(block);
	free(block);
	return 0;
}
