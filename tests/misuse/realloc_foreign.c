/* SPDX-License-Identifier: MIT
 * realloc_foreign.c -- resizes what malloc never saw. */
#include "misuse.h"

static _Alignas(64) char array[256];

int main(void) {
	announce(array);
	return realloc(array, 512) != NULL;
}
