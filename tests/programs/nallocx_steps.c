/* SPDX-License-Identifier: MIT
 * nallocx_steps.c -- callers walk through the sizes by nallocx(n) + 1, and may use all of what
 * mallocx(n) gives: nallocx(n) bytes. */
#include <jemalloc/jemalloc.h>
#include <stdint.h>

#include "programs.h"

/* Of the library that is preloaded. */
#pragma weak nallocx
#pragma weak mallocx
#pragma weak sallocx
#pragma weak rallocx
#pragma weak sdallocx

/* 64 KiB and above: one each 4 KiB. */
enum { MOST = 16 << 20, STEPS = MOST / 4096 + 200 };

static void use(size_t size, int flags) {
	size_t real = nallocx(size, flags);
	MUST(real >= size);
	MUST(nallocx(real, flags) == real);
	char *block = mallocx(size, flags);
	MUST(block && sallocx(block, flags) == real);
	memset(block, 1, real);
	block = rallocx(block, size + size / 2, flags);
	real = nallocx(size + size / 2, flags);
	MUST(block && sallocx(block, flags) >= size + size / 2);
	memset(block, 1, sallocx(block, flags));
	sdallocx(block, size % 2 ? sallocx(block, flags) : real, flags);
	block = malloc(size);
	MUST(block != NULL);
	sdallocx(block, size, 0);
}

int main(void) {
	must_be_mallow();
	static const size_t aligns[] = {1, 64, 4096, 65536};
	for (size_t i = 0; i < sizeof aligns / sizeof aligns[0]; i++) {
		int flags = MALLOCX_ALIGN(aligns[i]);
		size_t steps = 0;
		for (size_t size = 1; size < MOST; size = nallocx(size, flags) + 1) {
			MUST(++steps < STEPS);
			if (steps < 300 || steps % 100 == 0)
				use(size, flags);
		}
	}
	return 0;
}
