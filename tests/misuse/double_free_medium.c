/* SPDX-License-Identifier: MIT
 * double_free_medium.c -- frees a block of a few kernel pages twice, another one in between. */
#include "misuse.h"

int main(void) {
	void *block = malloc(20000), *other = malloc(20000);
	announce(block);
	free(block);
	free(other);
	free(block);
	return 0;
}
