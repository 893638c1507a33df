/* SPDX-License-Identifier: MIT
 * low_address.c -- frees a small number, as a pointer that was never set may be. */
#include "misuse.h"

int main(void) {
	void *block = (void *)0x1230;
	announce(block);
	free(block);
	return 0;
}
