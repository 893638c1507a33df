/* SPDX-License-Identifier: MIT
 * corrupt_link.c -- writes a pointer into a block that it freed; run with heap_check_interval:1, so
 * that the next slow path of malloc looks at the list before anybody follows it. */
#include "misuse.h"

int main(void) {
	char *block = malloc(64), *other = malloc(64);
	announce(other + 16);
	free(block);
	*(void **)(void *)block = other + 16;
	return malloc(3000) != NULL;
}
