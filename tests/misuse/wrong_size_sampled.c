/* SPDX-License-Identifier: MIT
 * wrong_size_sampled.c -- names more bytes than a sampled block has; run with prof_sample:1. */
#include "misuse.h"

int main(void) {
	void (*call)(void *, size_t);
	*(void **)&call = not_in_libc("free_sized");
	void *block = malloc(64);
	announce(block);
	call(block, 200);
	return 0;
}
