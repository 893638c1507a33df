/* SPDX-License-Identifier: MIT
 * double_free_wiped.c -- frees a block twice, and in between writes over what free() left in it.
 */
#include <string.h>

#include "misuse.h"

int main(void) {
	char *block = malloc(2000);
	announce(block);
	free(block);
	memset(block, 0, 64);
	free(block);
	return 0;
}
