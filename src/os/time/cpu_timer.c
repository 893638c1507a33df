/* SPDX-License-Identifier: MIT
 * cpu_timer.c -- POSIX timers by system calls: libc's timer_create() allocates, and starts a thread
 * for some requests. */
#include "os/time/cpu_timer.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "os/platform/system_call.h"

#ifndef sigev_notify_thread_id /* glibc has no name for it */
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Clock of a thread's CPU time: the complement of its id, shifted, with these bits
 * (CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED of the kernel). */
#define THREAD_CLOCK_BITS 6

static struct timespec timespec_of(uint64_t ns) {
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u)};
}

static int start(clockid_t clock, struct sigevent *event, int flags, uint64_t first_ns,
		 uint64_t period_ns) {
	int saved_errno = errno, timer = 0;
	const struct itimerspec times = {.it_value = timespec_of(first_ns),
					 .it_interval = timespec_of(period_ns)};
	if (mw_system_call(SYS_timer_create, clock, event, &timer) != 0) {
		/* EINVAL: there is no such thread. */
		timer = errno == EINVAL || errno == ESRCH ? MW_ERR_NOT_FOUND : MW_ERR_NO_MEMORY;
	} else if (mw_system_call(SYS_timer_settime, timer, flags, &times, NULL) != 0) {
		/* The thread has ended. */
		mw_os_timer_stop(timer);
		timer = MW_ERR_NOT_FOUND;
	}
	errno = saved_errno;
	return timer;
}

int mw_os_thread_timer_start(uint32_t thread_id, int signal_number, mw_os_thread_clock_t clock,
			     mw_os_timer_from_t from, uint64_t first_ns, uint64_t period_ns) {
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
				 .sigev_signo = signal_number,
				 .sigev_value.sival_int = (int)thread_id};
	event.sigev_notify_thread_id = (int)thread_id;
	if (clock == MW_OS_CLOCK_WALL)
		return start(CLOCK_MONOTONIC, &event, 0, first_ns, period_ns);
	clockid_t cpu_clock = (clockid_t)(~thread_id << 3 | THREAD_CLOCK_BITS);
	return start(cpu_clock, &event, from == MW_OS_FROM_THREAD_START ? TIMER_ABSTIME : 0,
		     first_ns, period_ns);
}

int mw_os_process_timer_start(int signal_number, uint64_t period_ns) {
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal_number};
	return start(CLOCK_PROCESS_CPUTIME_ID, &event, 0, period_ns, period_ns);
}

void mw_os_timer_put_off(int timer, uint64_t least_ns, uint64_t period_ns) {
	int saved_errno = errno;
	struct itimerspec times;
	if (mw_system_call(SYS_timer_gettime, timer, &times) == 0 && times.it_value.tv_sec == 0 &&
	    (uint64_t)times.it_value.tv_nsec < least_ns)
		mw_os_timer_begin(timer, least_ns, period_ns);
	errno = saved_errno;
}

void mw_os_timer_begin(int timer, uint64_t first_ns, uint64_t period_ns) {
	int saved_errno = errno;
	struct itimerspec times = {.it_value = timespec_of(first_ns),
				   .it_interval = timespec_of(period_ns)};
	mw_system_call(SYS_timer_settime, timer, 0, &times, NULL);
	errno = saved_errno;
}

void mw_os_timer_stop(int timer) {
	int saved_errno = errno;
	mw_system_call(SYS_timer_delete, timer);
	errno = saved_errno;
}
