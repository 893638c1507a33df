/* SPDX-License-Identifier: MIT
 * math.h -- what the sampler would need libm for; libmallow.so depends on libc only.
 * Layer: base.  Relative error below 1e-13 over the stated ranges. */
#ifndef MW_BASE_MATH_H
#define MW_BASE_MATH_H

/* Natural logarithm; x at least 2^-1022, finite. */
double mw_log(double x);
/* 1 - exp(-x) without cancellation; x >= 0. */
double mw_one_minus_exp(double x);
/* 1 / (1 - exp(-part / mean)); both > 0. */
double mw_reciprocal_chance(double part, double mean);

#endif
