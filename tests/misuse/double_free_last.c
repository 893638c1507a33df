/* SPDX-License-Identifier: MIT
 * double_free_last.c -- frees a small block, freed last, twice. */
#include "misuse.h"

int main(void) {
	void *block = malloc(64);
	announce(block);
	free(block);
	free(block);
	return 0;
}
