/* SPDX-License-Identifier: MIT
 * test_math.c -- the own logarithm, 1 - exp(-x) and its reciprocal against libm's. */
#include <math.h>

#include "base/math.h"
#include "base/rng.h"
#include "test.h"

static double relative_error(double got, double want) {
	return want == 0 ? fabs(got) : fabs(got - want) / fabs(want);
}

static void log_agrees_with_libm(void) {
	mw_rng_t rng;
	mw_rng_init(&rng, 1);
	for (int i = 0; i < 1000000; i++) {
		/* All magnitudes, and the neighbourhood of 1 where the logarithm vanishes. */
		double unit = (double)(mw_rng_next(&rng) >> 11) * 0x1p-53 + 0x1p-60;
		double x = i % 2 ? ldexp(unit, (int)(mw_rng_next(&rng) % 2000) - 1000)
				 : 1.0 + (unit - 0.5) * ldexp(1.0, -(i / 2 % 50));
		CHECK(relative_error(mw_log(x), log(x)) < 1e-13);
	}
	CHECK(mw_log(1.0) == 0.0);
	CHECK(relative_error(mw_log(0x1p-1022), log(0x1p-1022)) < 1e-13);
	CHECK(relative_error(mw_log(0x1.fffffffffffffp1023), log(0x1.fffffffffffffp1023)) < 1e-13);
}

static void chances_agree_with_libm(void) {
	mw_rng_t rng;
	mw_rng_init(&rng, 2);
	for (int i = 0; i < 1000000; i++) {
		double unit = (double)(mw_rng_next(&rng) >> 11) * 0x1p-53;
		double x = i % 2 ? unit * 60 : ldexp(unit, -(i / 2 % 60));
		CHECK(relative_error(mw_one_minus_exp(x), -expm1(-x)) < 1e-13);
		double mean = ldexp(1, i % 41);
		if (x > 0)
			CHECK(relative_error(mw_reciprocal_chance(x * mean, mean), -1 / expm1(-x)) <
			      1e-13);
	}
	CHECK(mw_one_minus_exp(0.0) == 0.0);
	CHECK(mw_one_minus_exp(1e300) == 1.0);
	CHECK(relative_error(mw_one_minus_exp(0x1p-1000), 0x1p-1000) == 0);
}

int main(void) {
	RUN(log_agrees_with_libm);
	RUN(chances_agree_with_libm);
	return 0;
}
