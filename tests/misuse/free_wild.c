/* SPDX-License-Identifier: MIT
 * free_wild.c -- frees what is no address at all: text that was taken for a pointer. */
#include <stdint.h>

#include "misuse.h"

int main(void) {
	static volatile uintptr_t text = UINT64_C(0x4141414141414141);
	announce((void *)text);
	free((void *)text);
	return 0;
}
