/* SPDX-License-Identifier: MIT
 * double_free_later.c -- frees a block twice, another one in between. */
#include "misuse.h"

int main(void) {
	void *block = malloc(64), *other = malloc(64);
	announce(block);
	free(block);
	free(other);
	free(block);
	return 0;
}
