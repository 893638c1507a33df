/* SPDX-License-Identifier: MIT
 * math.h -- logarithm and exponential for the sampler. libmallow.so needs libc only, so libm is not
 * used.
 * Layer: base.  Relative error below 1e-13 over the stated ranges. */
#ifndef MW_BASE_MATH_H
#define MW_BASE_MATH_H

/* Natural logarithm. Precondition: x is finite and at least 2^-1022. */
double mw_log(double x);
/* 1 - exp(-x) without cancellation. Precondition: x >= 0. */
double mw_one_minus_exp(double x);
/* 1 / (1 - exp(-part / mean)). Precondition: both are > 0. */
double mw_reciprocal_chance(double part, double mean);

#endif
