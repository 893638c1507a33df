/* SPDX-License-Identifier: MIT
 * math.c -- logarithm, 1 - exp(-x) and its reciprocal by range reduction and power series. */
#include "base/math.h"

#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "base/compiler.h"

/* ln 2 in two parts. The first part has 21 trailing zero bits, so that its product with a binary
 * exponent is exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33
#define SQRT_HALF_BITS ((uint64_t)0x3fe6a09e667f3bcd)
#define EXPONENT_BITS ((uint64_t)0xfff << 52)
/* For x above this, exp(-x) is below half a unit in the last place of 1. */
#define SATURATION 38.0

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

/* Coefficients of 2 atanh(s)/s in s^2, lowest first, for |s| <= 3 - sqrt 8. The polynomial is exact
 * at the zeros of a Chebyshev polynomial; its error is at most 3e-14. The Taylor series needs nine
 * terms for the same error. */
static const double atanh_terms[] = {
	0x1.fffffffffff16p+0, 0x1.5555555670188p-1, 0x1.9999962e4e1eap-2,
	0x1.24943749f8dd9p-2, 0x1.c6212e7ee524bp-3, 0x1.918f838510ac7p-3,
};
/* Coefficients of (1 - exp(-x))/x in -x: 1/n! from n = 1. They are constants because a division
 * takes longer than the rest of a term. */
static const double exp_terms[] = {
	1.0,
	1.0 / 2,
	1.0 / 6,
	1.0 / 24,
	1.0 / 120,
	1.0 / 720,
	1.0 / 5040,
	1.0 / 40320,
	1.0 / 362880,
	1.0 / 3628800,
	1.0 / 39916800,
	1.0 / 479001600,
	1.0 / 6227020800,
	1.0 / 87178291200,
	1.0 / 1307674368000,
	1.0 / 20922789888000,
	1.0 / 355687428096000,
};

/* Coefficients of (1/(1 - exp(-x)) - 1/x - 1/2) / x in x^2: B_2k / (2k)!, with Bernoulli numbers
 * B. */
static const double reciprocal_terms[] = {
	1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000,
};

static uint64_t bits_of(double x) {
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static double double_of(uint64_t bits) {
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

/* Horner's rule for the even and the odd powers separately, so that the processor runs both chains
 * of operations at once. */
MW_ALWAYS_INLINE double polynomial(const double *terms, int count, double x) {
	double square = x * x, sums[2];
	sums[(count - 1) % 2] = terms[count - 1];
	sums[count % 2] = terms[count - 2];
#pragma GCC unroll 17
	for (int i = count - 3; i >= 0; i--)
		sums[i % 2] = sums[i % 2] * square + terms[i];
	return sums[0] + x * sums[1];
}

double mw_log(double x) {
	MW_ASSERT(x >= 0x1p-1022);
	/* m: the mantissa, between the square roots of 1/2 and 2. A branch here would depend on
	 * random data. */
	uint64_t bits = bits_of(x), above = bits - SQRT_HALF_BITS;
	int64_t exponent = (int64_t)above >> 52;
	double mantissa = double_of(bits - (above & EXPONENT_BITS));
	/* log(m) = 2 atanh(s), s = (m-1)/(m+1). */
	double s = (mantissa - 1.0) / (mantissa + 1.0);
	double log_mantissa = s * polynomial(atanh_terms, COUNT_OF(atanh_terms), s * s);
	return (double)exponent * LN2_HIGH + ((double)exponent * LN2_LOW + log_mantissa);
}

/* Series of 1 - exp(-x) for |x| <= 0.5. The first omitted term, x^17/17!, is below 1e-19. */
static double series(double x) {
	return x * polynomial(exp_terms, COUNT_OF(exp_terms), -x);
}

double mw_one_minus_exp(double x) {
	MW_ASSERT(x >= 0);
	if (x <= 0.5)
		return series(x);
	if (x >= SATURATION)
		return 1.0;
	/* exp(-x) = 2^-k exp(-r), |r| <= ln 2 / 2. */
	int k = (int)(x / LN2_HIGH + 0.5);
	double rest = (x - k * LN2_HIGH) - k * LN2_LOW;
	return 1.0 - double_of((uint64_t)(1023 - k) << 52) * (1.0 - series(rest));
}

double mw_reciprocal_chance(double part, double mean) {
	MW_ASSERT(part > 0);
	double x = part / mean;
	if (x > 0.5)
		return 1.0 / mw_one_minus_exp(x);
	/* The first omitted term is below 2e-15 at x = 1/2, where the sum is above 2, and below
	 * 1e-12 at x = 1/32, where the sum is 32. */
	double rest = MW_LIKELY(x <= 0x1p-5)
			      ? reciprocal_terms[0] + reciprocal_terms[1] * (x * x)
			      : polynomial(reciprocal_terms, COUNT_OF(reciprocal_terms), x * x);
	return mean / part + 0.5 + x * rest;
}
