/* SPDX-License-Identifier: MIT
 * futex.c -- futex(2) and futex_waitv(2) by raw system calls. */
#include "os/lock/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <time.h>
#include <unistd.h>

#include "os/platform/kernel_calls.h"
#include "os/platform/system_call.h"
#include "os/time/clock.h"

#ifndef FUTEX_32 /* headers before Linux 5.16 */
#define FUTEX_32 2
struct futex_waitv {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};
#endif

/* Interval at which a waiter looks again where the kernel cannot wait for two words. */
#define LOOK_NS ((uint64_t)250000000)

static void wake(_Atomic uint32_t *word, int threads) {
	int saved_errno = errno;
	mw_system_call(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
	errno = saved_errno;
}

void mw_os_wake(_Atomic uint32_t *word) {
	wake(word, 1);
}

MW_COLD void mw_os_wake_all(_Atomic uint32_t *word) {
	wake(word, INT_MAX);
}

bool mw_os_wait_while(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns) {
	int saved_errno = errno;
	struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
				   .tv_nsec = (long)(timeout_ns % 1000000000u)};
	bool is_over = mw_system_call(SYS_futex, word, FUTEX_WAIT_PRIVATE, value,
				      timeout_ns == UINT64_MAX ? NULL : &timeout, NULL, 0) == -1 &&
		       errno == ETIMEDOUT;
	errno = saved_errno;
	return is_over;
}

void mw_os_wait_while_both(_Atomic uint32_t *word, uint32_t value, _Atomic uint32_t *shared,
			   uint32_t shared_value, uint64_t timeout_ns) {
	if (mw_os_is_confined()) {
		mw_os_wait_while(word, value, timeout_ns < LOOK_NS ? timeout_ns : LOOK_NS);
		return;
	}
	int saved_errno = errno;
	struct futex_waitv words[] = {
		{.uaddr = (uintptr_t)word, .val = value, .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG},
		{.uaddr = (uintptr_t)shared, .val = shared_value, .flags = FUTEX_32},
	};
	uint64_t end_ns = timeout_ns == UINT64_MAX ? 0 : mw_os_monotonic_ns() + timeout_ns;
	struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u),
			       .tv_nsec = (long)(end_ns % 1000000000u)};
	long result = mw_system_call(SYS_futex_waitv, words, 2, 0,
				     timeout_ns == UINT64_MAX ? NULL : &end, CLOCK_MONOTONIC);
	bool refused = result < 0 && errno != EAGAIN && errno != EINTR && errno != ETIMEDOUT;
	errno = saved_errno;
	if (refused)
		mw_os_wait_while(word, value, timeout_ns < LOOK_NS ? timeout_ns : LOOK_NS);
}
