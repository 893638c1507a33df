/* SPDX-License-Identifier: MIT
 * wrong_alignment.c -- names an alignment that a large block does not have. */
#include <stdint.h>

#include "misuse.h"

int main(void) {
	void (*call)(void *, size_t, size_t);
	*(void **)&call = not_in_libc("free_aligned_sized");
	void *block = malloc(262144), *unaligned = malloc(262144);
	/* One of two neighbours is not at a multiple of 2^40. */
	if ((uintptr_t)unaligned % ((uintptr_t)1 << 40) == 0)
		unaligned = block;
	announce(unaligned);
	call(unaligned, (size_t)1 << 40, 262144);
	return 0;
}
