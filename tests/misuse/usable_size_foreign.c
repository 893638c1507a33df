/* SPDX-License-Identifier: MIT
 * usable_size_foreign.c -- asks for the size of what malloc never saw. */
#include "misuse.h"

static _Alignas(64) char array[256];

int main(void) {
	announce(array);
	return malloc_usable_size(array) != 0;
}
