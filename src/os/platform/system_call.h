/* SPDX-License-Identifier: MIT
 * system_call.h -- system calls past libc's functions.
 * Layer: os/platform.  Async-signal-safe, no cancellation points.
 *
 * A library that is preloaded beside mallow may replace libc's functions, syscall(2) among them,
 * and its replacement may allocate or wait for a lock.  malloc would then call itself with its
 * locks held.  So mallow makes its system calls itself, but for sigaction(2), which it calls by a
 * name that nobody replaces (os/signal/signal.h), and what starts threads, which no call of malloc
 * makes unless an option asks for it. */
#ifndef MW_OS_SYSTEM_CALL_H
#define MW_OS_SYSTEM_CALL_H

#include <sys/syscall.h>

#include "base/compiler.h"

/* Names that the headers of an older libc lack.  The numbers are the same on all processors. */
#ifndef SYS_close_range /* Linux 5.9 */
#define SYS_close_range 436
#endif
#ifndef SYS_futex_waitv /* Linux 5.16; musl before 1.2.4 has no name for it */
#define SYS_futex_waitv 449
#endif

/* Returns what the kernel returned: at an error its number, negated.  Uses no thread-local data, so
 * a thread that has none of its own may call it. */
#if defined(__x86_64__)
/* The kernel overwrites rcx and r11. */
MW_ALWAYS_INLINE long mw_enter_kernel(long number, long a, long b, long c, long d, long e, long f) {
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
MW_ALWAYS_INLINE long mw_enter_kernel(long number, long a, long b, long c, long d, long e, long f) {
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

/* Base has it as a hook, too (base/put.h). */
long mw_system_call6(long number, long a, long b, long c, long d, long e, long f);

MW_ALWAYS_INLINE long mw_system_call_by(long number, long a, long b, long c, long d, long e,
					long f) {
	return mw_system_call6(number, a, b, c, d, e, f);
}

/* mw_system_call(number, up to six arguments), each a number or a pointer.  Returns what the kernel
 * returned; -1, with errno set: it refused.  Keeps errno else. */
#define mw_system_call(...)                                                                        \
	MW_SYSTEM_CALL_PICK(__VA_ARGS__, MW_SYSTEM_CALL_6, MW_SYSTEM_CALL_5, MW_SYSTEM_CALL_4,     \
			    MW_SYSTEM_CALL_3, MW_SYSTEM_CALL_2, MW_SYSTEM_CALL_1,                  \
			    MW_SYSTEM_CALL_0, unused)                                              \
	(__VA_ARGS__)
#define MW_SYSTEM_CALL_PICK(number, a, b, c, d, e, f, chosen, ...) chosen
#define MW_SYSTEM_CALL_0(number) mw_system_call_by(number, 0, 0, 0, 0, 0, 0)
#define MW_SYSTEM_CALL_1(number, a) mw_system_call_by(number, (long)(a), 0, 0, 0, 0, 0)
#define MW_SYSTEM_CALL_2(number, a, b) mw_system_call_by(number, (long)(a), (long)(b), 0, 0, 0, 0)
#define MW_SYSTEM_CALL_3(number, a, b, c)                                                          \
	mw_system_call_by(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define MW_SYSTEM_CALL_4(number, a, b, c, d)                                                       \
	mw_system_call_by(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define MW_SYSTEM_CALL_5(number, a, b, c, d, e)                                                    \
	mw_system_call_by(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define MW_SYSTEM_CALL_6(number, a, b, c, d, e, f)                                                 \
	mw_system_call_by(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
