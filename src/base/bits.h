/* SPDX-License-Identifier: MIT
 * bits.h -- rounding and bit tricks.  Layer: base. */
#ifndef MW_BASE_BITS_H
#define MW_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* As memcmp() == 0, of few bytes: libc's lies where small processes read nothing else
 * (doc/adr/0014-resident-first.md). */
static inline bool mw_same_bytes(const void *one, const void *other, size_t bytes) {
	const unsigned char *a = (const unsigned char *)one, *b = (const unsigned char *)other;
	for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t)) {
		uint64_t x, y;
		memcpy(&x, a, sizeof x);
		memcpy(&y, b, sizeof y);
		if (x != y)
			return false;
		a += sizeof x;
		b += sizeof y;
	}
	while (bytes > 0 && *a == *b) {
		a++;
		b++;
		bytes--;
	}
	return bytes == 0;
}

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
