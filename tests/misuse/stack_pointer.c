/* SPDX-License-Identifier: MIT
 * stack_pointer.c -- frees an array on the stack. */
#include "misuse.h"

int main(void) {
	_Alignas(64) char array[256] = {0};
	announce(array);
	free(array);
	return 0;
}
