/* SPDX-License-Identifier: MIT
 * wrong_size.c -- names another size than it asked for. */
#include "misuse.h"

int main(void) {
	void (*call)(void *, size_t);
	*(void **)&call = not_in_libc("free_sized");
	void *block = malloc(64);
	announce(block);
	call(block, 32);
	return 0;
}
