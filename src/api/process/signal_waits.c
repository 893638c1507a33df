/* SPDX-License-Identifier: MIT
 * signal_waits.c -- replaces sigwait(3), sigwaitinfo(2), sigtimedwait(2) and signalfd(2): a program
 * that waits for all signals does not receive those of samples and of leak checks.  The kernel
 * gives a signal to a thread that waits for it, handler or not.  Each function calls the next
 * definition. Those that wait call it again, for the rest of the time, after a signal of mallow. Of
 * a descriptor the sampler is told, which sends no signal that it would read. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "api/process/next_calls.h"
#include "base/compiler.h"
#include "cpu/cpu.h"
#include "os/platform/system_call.h"
#include "os/process/stop.h"
#include "os/signal/tick.h"
#include "os/time/clock.h"

#define NS_PER_SECOND 1000000000L
#define KERNEL_SET_BYTES 8

static bool is_of_mallow(int signal_number, const siginfo_t *info) {
	return mw_os_tick_was_waited(signal_number, info) ||
	       mw_os_stop_was_waited(signal_number, info);
}

static MW_WAITS int next_wait_for(const sigset_t *set, siginfo_t *info,
				  const struct timespec *limit) {
	int (*next)(const sigset_t *, siginfo_t *, const struct timespec *);
	*(void **)&next = mw_next_call(MW_NEXT_SIGTIMEDWAIT);
	return MW_LIKELY(next != NULL) ? next(set, info, limit)
				       : (int)mw_system_call(SYS_rt_sigtimedwait, set, info, limit,
							     KERNEL_SET_BYTES);
}

static MW_WAITS int next_wait(const sigset_t *set, siginfo_t *info) {
	int (*next)(const sigset_t *, siginfo_t *);
	*(void **)&next = mw_next_call(MW_NEXT_SIGWAITINFO);
	return MW_LIKELY(next != NULL) ? next(set, info) : next_wait_for(set, info, NULL);
}

/* Returns the signal's number, or -1, as the next definition. */
static MW_WAITS int wait_for_own(const sigset_t *set, siginfo_t *info) {
	int number;
	do
		number = next_wait(set, info);
	while (number > 0 && is_of_mallow(number, info));
	return number;
}

MW_EXPORT MW_WAITS int sigwaitinfo(const sigset_t *set, siginfo_t *info) {
	siginfo_t own;
	int number = wait_for_own(set, &own);
	if (number > 0 && info)
		*info = own;
	return number;
}

/* Returns an error, and does not set errno; it goes on after a handler, as libc's. */
MW_EXPORT MW_WAITS int sigwait(const sigset_t *set, int *signal_number) {
	int saved_errno = errno, number, error;
	siginfo_t own;
	do {
		number = wait_for_own(set, &own);
		error = number > 0 ? 0 : errno;
	} while (error == EINTR);
	errno = saved_errno;
	if (error == 0)
		*signal_number = number;
	return error;
}

/* sys/signalfd.h declares the function with a set that is never NULL, so it is not included here: a
 * program may pass NULL, and the kernel says EFAULT. */
MW_EXPORT int signalfd(int descriptor, const sigset_t *set, int flags);

int signalfd(int descriptor, const sigset_t *set, int flags) {
	int (*next)(int, const sigset_t *, int);
	uint64_t read = 0;
	if (set)
		memcpy(&read, set, KERNEL_SET_BYTES);
	mw_cpu_note_read(read);
	*(void **)&next = mw_next_call(MW_NEXT_SIGNALFD);
	return MW_LIKELY(next != NULL) ? next(descriptor, set, flags)
				       : (int)mw_system_call(SYS_signalfd4, descriptor, set,
							     KERNEL_SET_BYTES, flags);
}

/* Returns what is left of the limit; no time at its end. */
static struct timespec rest_of(const struct timespec *limit, uint64_t past_ns) {
	struct timespec rest = {.tv_sec = limit->tv_sec - (time_t)(past_ns / NS_PER_SECOND),
				.tv_nsec = limit->tv_nsec - (long)(past_ns % NS_PER_SECOND)};
	if (rest.tv_nsec < 0) {
		rest.tv_nsec += NS_PER_SECOND;
		rest.tv_sec--;
	}
	return rest.tv_sec < 0 ? (struct timespec){0} : rest;
}

MW_EXPORT MW_WAITS int sigtimedwait(const sigset_t *set, siginfo_t *info,
				    const struct timespec *limit) {
	siginfo_t own;
	struct timespec rest;
	uint64_t begin_ns = limit ? mw_os_monotonic_ns() : 0;
	int number = next_wait_for(set, &own, limit);
	while (number > 0 && is_of_mallow(number, &own)) {
		if (limit)
			rest = rest_of(limit, mw_os_monotonic_ns() - begin_ns);
		number = next_wait_for(set, &own, limit ? &rest : NULL);
	}
	if (number > 0 && info)
		*info = own;
	return number;
}
