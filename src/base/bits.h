/* SPDX-License-Identifier: MIT
 * bits.h -- rounding, bit tricks, short ranges of bytes.  Layer: base. */
#ifndef MW_BASE_BITS_H
#define MW_BASE_BITS_H

#include <stdatomic.h>
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

/* ---- short ranges of bytes, copied and cleared without libc's functions ----
 *
 * For what runs while malloc() takes a sample: a library that replaces memcpy(3) and its kin may
 * allocate in it, with a lock of its own held.  Async-signal-safe. */

typedef uint64_t __attribute__((may_alias)) mw_any_word_t;
typedef uint64_t __attribute__((may_alias, vector_size(32), aligned(8))) mw_any_four_t;

/* The empty statements in the loops keep the compiler from making calls of libc's functions of
 * them.  `bytes` of words: a multiple of 8. */
static inline void mw_words_copy(void *to, const void *from, size_t bytes) {
	size_t words = bytes / sizeof(mw_any_word_t), fours = words / 4;
	for (size_t i = 0; i < fours; i++) {
		((mw_any_four_t *)to)[i] = ((const mw_any_four_t *)from)[i];
		__asm__ volatile("");
	}
	for (size_t i = 4 * fours; i < words; i++) {
		((mw_any_word_t *)to)[i] = ((const mw_any_word_t *)from)[i];
		__asm__ volatile("");
	}
}

static inline void mw_words_clear(void *to, size_t bytes) {
	for (size_t i = 0; i < bytes / sizeof(mw_any_word_t); i++) {
		((mw_any_word_t *)to)[i] = 0;
		__asm__ volatile("");
	}
}

static inline void mw_bytes_copy(void *to, const void *from, size_t bytes) {
	for (size_t i = 0; i < bytes; i++) {
		((char *)to)[i] = ((const char *)from)[i];
		__asm__ volatile("");
	}
}

/* ---- Claims of one of 64 things, without waiting: signal handlers take buffers so ---- */

#define MW_CLAIMS 64u

/* Sets a bit that is 0. Returns its number; MW_CLAIMS: all are 1. */
static inline unsigned mw_claim(_Atomic uint64_t *claimed) {
	uint64_t bits = atomic_load_explicit(claimed, memory_order_relaxed);
	while (bits != UINT64_MAX) {
		unsigned number = (unsigned)__builtin_ctzll(~bits);
		/* Pairs with the release below: the former user is done with the thing. */
		if (atomic_compare_exchange_weak_explicit(
			    claimed, &bits, bits | UINT64_C(1) << number, memory_order_acquire,
			    memory_order_relaxed))
			return number;
	}
	return MW_CLAIMS;
}

static inline void mw_unclaim(_Atomic uint64_t *claimed, unsigned number) {
	atomic_fetch_and_explicit(claimed, ~(UINT64_C(1) << number), memory_order_release);
}

#endif
