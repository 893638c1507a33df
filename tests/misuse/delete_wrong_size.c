/* SPDX-License-Identifier: MIT
 * delete_wrong_size.c -- operator delete with the size of another class, of a large block. */
#include "misuse.h"

/* operator delete(void *, std::size_t) */
int main(void) {
	void (*call)(void *, size_t);
	*(void **)&call = not_in_libc("_ZdlPvm");
	void *block = malloc(262144);
	announce(block);
	call(block, 64);
	return 0;
}
