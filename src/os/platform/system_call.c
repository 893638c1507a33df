/* SPDX-License-Identifier: MIT
 * system_call.c -- enters the kernel. */
#include "os/platform/system_call.h"

#include <errno.h>

#include "base/compiler.h"

/* Results from here on are numbers of errors, negated. */
#define ERRORS 4095ul

#if defined(__x86_64__)
/* The kernel overwrites rcx and r11. */
static inline long enter_kernel(long number, long a, long b, long c, long d, long e, long f) {
	register long fourth __asm__("r10") = d;
	register long fifth __asm__("r8") = e;
	register long sixth __asm__("r9") = f;
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static inline long enter_kernel(long number, long a, long b, long c, long d, long e, long f) {
	register long call __asm__("x8") = number;
	register long first __asm__("x0") = a;
	register long second __asm__("x1") = b;
	register long third __asm__("x2") = c;
	register long fourth __asm__("x3") = d;
	register long fifth __asm__("x4") = e;
	register long sixth __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(first)
			 : "r"(call), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "memory");
	return first;
}
#else
#error "no system calls for this processor"
#endif

MW_RESIDENT long mw_system_call6(long number, long a, long b, long c, long d, long e, long f) {
	long result = enter_kernel(number, a, b, c, d, e, f);
	if (MW_LIKELY((unsigned long)result < -ERRORS))
		return result;
	errno = (int)-result;
	return -1;
}
