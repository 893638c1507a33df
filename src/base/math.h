/* SPDX-License-Identifier: MIT
 * math.h -- the two functions of libm the sampler needs; libmallow.so depends on libc only.
 * Layer: base.  Relative error below 1e-13 over the stated ranges. */
#ifndef MW_BASE_MATH_H
#define MW_BASE_MATH_H

/* Natural logarithm; x > 0, finite. */
double mw_log(double x);
/* 1 - exp(-x) without cancellation; x >= 0. */
double mw_one_minus_exp(double x);

#endif
