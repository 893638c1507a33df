/* SPDX-License-Identifier: MIT
 * bignum.c -- factors a number by Pollard's rho method; every result of every operation on the big
 * numbers is a small block of its own with a count of references, as in simple bignum packages. */
#include "workload.h"

typedef struct big {
	uint32_t references, length; /* limbs, the top one not zero */
	uint32_t limbs[];
} big_t;

static big_t *big_new(uint32_t length) {
	big_t *a = wl_malloc(sizeof(*a) + length * sizeof(uint32_t));
	a->references = 1;
	a->length = length;
	return a;
}

static void big_release(big_t *a) {
	if (--a->references == 0)
		free(a);
}

static big_t *big_trim(big_t *a) {
	while (a->length > 0 && a->limbs[a->length - 1] == 0)
		a->length--;
	return a;
}

static big_t *big_from(uint64_t value) {
	big_t *a = big_new(2);
	a->limbs[0] = (uint32_t)value;
	a->limbs[1] = (uint32_t)(value >> 32);
	return big_trim(a);
}

static int big_compare(const big_t *a, const big_t *b) {
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	for (uint32_t i = a->length; i-- > 0;)
		if (a->limbs[i] != b->limbs[i])
			return a->limbs[i] < b->limbs[i] ? -1 : 1;
	return 0;
}

static big_t *big_add(const big_t *a, const big_t *b) {
	uint32_t length = (a->length > b->length ? a->length : b->length) + 1;
	big_t *sum = big_new(length);
	uint64_t carry = 0;
	for (uint32_t i = 0; i < length; i++) {
		carry += (i < a->length ? a->limbs[i] : 0);
		carry += (i < b->length ? b->limbs[i] : 0);
		sum->limbs[i] = (uint32_t)carry;
		carry >>= 32;
	}
	return big_trim(sum);
}

/* a >= b. */
static big_t *big_subtract(const big_t *a, const big_t *b) {
	big_t *difference = big_new(a->length);
	int64_t borrow = 0;
	for (uint32_t i = 0; i < a->length; i++) {
		borrow += (int64_t)a->limbs[i] - (i < b->length ? b->limbs[i] : 0);
		difference->limbs[i] = (uint32_t)borrow;
		borrow >>= 32;
	}
	return big_trim(difference);
}

static big_t *big_multiply(const big_t *a, const big_t *b) {
	big_t *product = big_new(a->length + b->length);
	memset(product->limbs, 0, product->length * sizeof(uint32_t));
	for (uint32_t i = 0; i < a->length; i++) {
		uint64_t carry = 0;
		for (uint32_t k = 0; k < b->length; k++) {
			carry += (uint64_t)a->limbs[i] * b->limbs[k] + product->limbs[i + k];
			product->limbs[i + k] = (uint32_t)carry;
			carry >>= 32;
		}
		product->limbs[i + b->length] = (uint32_t)carry;
	}
	return big_trim(product);
}

static big_t *big_shift_left(const big_t *a, uint32_t bits) {
	big_t *shifted = big_new(a->length + bits / 32 + 1);
	memset(shifted->limbs, 0, shifted->length * sizeof(uint32_t));
	for (uint32_t i = 0; i < a->length; i++) {
		uint64_t wide = (uint64_t)a->limbs[i] << (bits % 32);
		shifted->limbs[i + bits / 32] |= (uint32_t)wide;
		shifted->limbs[i + bits / 32 + 1] |= (uint32_t)(wide >> 32);
	}
	return big_trim(shifted);
}

static uint32_t big_bits(const big_t *a) {
	if (a->length == 0)
		return 0;
	return a->length * 32 - (uint32_t)__builtin_clz(a->limbs[a->length - 1]);
}

/* By shifted subtraction: slow, and it makes a block for every step.  Takes `a` over. */
static big_t *big_modulo(big_t *a, const big_t *modulus) {
	while (big_compare(a, modulus) >= 0) {
		uint32_t shift = big_bits(a) - big_bits(modulus);
		big_t *part = big_shift_left(modulus, shift);
		if (big_compare(part, a) > 0) {
			big_release(part);
			part = big_shift_left(modulus, shift - 1);
		}
		big_t *rest = big_subtract(a, part);
		big_release(part);
		big_release(a);
		a = rest;
	}
	return a;
}

static big_t *big_gcd(big_t *a, big_t *b) {
	a->references++;
	b->references++;
	while (b->length > 0) {
		big_t *rest = big_modulo(a, b);
		a = b;
		b = rest;
	}
	big_release(b);
	return a;
}

/* x*x + 1 modulo n; takes x over. */
static big_t *step(big_t *x, const big_t *n, const big_t *one) {
	big_t *square = big_multiply(x, x);
	big_t *next = big_add(square, one);
	big_release(square);
	big_release(x);
	return big_modulo(next, n);
}

static uint64_t smallest_factor(uint64_t p, uint64_t q) {
	big_t *bp = big_from(p), *bq = big_from(q), *one = big_from(1);
	big_t *n = big_multiply(bp, bq), *slow = big_from(2), *fast = big_from(2);
	uint64_t factor = 0;
	while (factor == 0) {
		slow = step(slow, n, one);
		fast = step(step(fast, n, one), n, one);
		int order = big_compare(slow, fast);
		big_t *distance = order < 0 ? big_subtract(fast, slow) : big_subtract(slow, fast);
		big_t *common = big_gcd(n, distance);
		if (big_compare(common, one) > 0)
			factor = common->limbs[0] |
				 (uint64_t)(common->length > 1 ? common->limbs[1] : 0) << 32;
		big_release(common);
		big_release(distance);
	}
	big_release(bp);
	big_release(bq);
	big_release(one);
	big_release(n);
	big_release(slow);
	big_release(fast);
	return factor;
}

int main(void) {
	/* Primes near 2^25 times primes near 2^61: some thousands of steps each. */
	static const uint64_t primes[] = {33554467, 33554473, 33554501, 16777259,
					  33554383, 33554371, 33554347};
	uint64_t sum = 0;
	for (unsigned i = 0; i < sizeof(primes) / sizeof(primes[0]); i++)
		sum += smallest_factor(primes[i], UINT64_C(2305843009213693951));
	return wl_finish(sum);
}
