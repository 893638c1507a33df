/* SPDX-License-Identifier: MIT
 * realloc_wild.c -- resizes what is no address at all: text that was taken for a pointer. */
#include <stdint.h>

#include "misuse.h"

int main(void) {
	static volatile uintptr_t text = UINT64_C(0x4141414141414141);
	announce((void *)text);
	return realloc((void *)text, 512) != NULL;
}
