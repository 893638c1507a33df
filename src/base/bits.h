/* SPDX-License-Identifier: MIT
 * bits.h -- rounding and bit tricks.  Layer: base. */
#ifndef MW_BASE_BITS_H
#define MW_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Like memcmp() == 0, for a few bytes. The code is inline because memcmp() lies on a page of libc
 * that small processes read for nothing else (doc/adr/0014-startup-layout.md). */
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

/* Precondition: `align` is a power of two, and the sum does not wrap. */
static inline size_t mw_round_up(size_t x, size_t align) {
	return (x + align - 1) & ~(align - 1);
}

/* Floor of the binary logarithm. Precondition: x > 0. */
static inline unsigned mw_log2_floor(size_t x) {
	return 63u ^ (unsigned)__builtin_clzl(x); /* equals 63 - clz, in one instruction */
}

#endif
