/* SPDX-License-Identifier: MIT
 * shadow.h -- the model a heap is held against: which addresses are given out, and what is in them.
 * Safe for threads; no locks.  Failures end the program. */
#ifndef TORTURE_SHADOW_H
#define TORTURE_SHADOW_H

#include <stddef.h>
#include <stdint.h>

/* Reserves the map: a bit for each 16 bytes of the address space. */
void shadow_init(void);
/* The range was given out: fails if any of it was already. */
void shadow_claim(const void *block, size_t bytes);
/* It is about to be given back: fails if any of it was not given out. */
void shadow_release(const void *block, size_t bytes);
/* Granules given out now. */
uint64_t shadow_claimed(void);

/* Contents that follow from `seed` and the offset alone, so that a prefix stays valid when a block
 * is resized.  Blocks beyond 64 KiB are filled and checked at both ends and once a page. */
void pattern_fill(void *block, size_t bytes, uint64_t seed);
void pattern_check(const void *block, size_t bytes, uint64_t seed);
void zero_check(const void *block, size_t bytes);

#define TORTURE_MUST(condition)                                                                    \
	do {                                                                                       \
		if (!(condition))                                                                  \
			torture_fail(__FILE__, __LINE__, #condition);                              \
	} while (0)
_Noreturn void torture_fail(const char *file, int line, const char *what);

#endif
