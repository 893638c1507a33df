/* SPDX-License-Identifier: MIT
 * bits.h -- rounding and bit tricks.  Layer: base. */
#ifndef MW_BASE_BITS_H
#define MW_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool mw_is_pow2(size_t x) {
	return x != 0 && (x & (x - 1)) == 0;
}

/* `align` is a power of two; the caller knows that the sum does not wrap. */
static inline size_t mw_round_up(size_t x, size_t align) {
	return (x + align - 1) & ~(align - 1);
}

/* Floor of the binary logarithm; x > 0. */
static inline unsigned mw_log2_floor(size_t x) {
	return 63u ^ (unsigned)__builtin_clzl(x); /* as 63 - clz, in one instruction */
}

#endif
