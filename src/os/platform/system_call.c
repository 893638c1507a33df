/* SPDX-License-Identifier: MIT
 * system_call.c -- enters the kernel. */
#include "os/platform/system_call.h"

#include <errno.h>

#include "base/compiler.h"

/* Results from here on are numbers of errors, negated. */
#define ERRORS 4095ul

long mw_system_call6(long number, long a, long b, long c, long d, long e, long f) {
	long result = mw_enter_kernel(number, a, b, c, d, e, f);
	if (MW_LIKELY((unsigned long)result < -ERRORS))
		return result;
	errno = (int)-result;
	return -1;
}
