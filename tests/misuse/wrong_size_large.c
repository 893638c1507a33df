/* SPDX-License-Identifier: MIT
 * wrong_size_large.c -- names another size than a large block has. */
#include "misuse.h"

int main(void) {
	void (*call)(void *, size_t);
	*(void **)&call = not_in_libc("free_sized");
	void *block = malloc(262144);
	announce(block);
	call(block, 200000);
	return 0;
}
