/* SPDX-License-Identifier: MIT
 * foreign_pointer.c -- frees what malloc never saw: a static array. */
#include "misuse.h"

static _Alignas(64) char array[256];

int main(void) {
	announce(array);
	free(array);
	return 0;
}
