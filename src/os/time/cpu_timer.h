/* SPDX-License-Identifier: MIT
 * cpu_timer.h -- timers that send a signal each time a thread, or the process, has used a certain
 * amount of time.
 * Layer: os/time. The signal's siginfo has si_code SI_TIMER, the thread's id in si_value, and in
 * si_overrun the number of further intervals that ended meanwhile: most kernels look at these
 * timers 250 or 1000 times a second. A forked child and a program after exec have no timers.
 *
 * Async-signal-safe. errno is kept. */
#ifndef MW_OS_CPU_TIMER_H
#define MW_OS_CPU_TIMER_H

#include <stdint.h>

/* When the first interval ends. */
typedef enum mw_os_timer_from {
	MW_OS_FROM_NOW,          /* after first_ns */
	MW_OS_FROM_THREAD_START, /* when the thread's CPU time is first_ns; intervals that ended
				    already are among the missed ones of the first signal. By
				    MW_OS_CLOCK_WALL as MW_OS_FROM_NOW */
} mw_os_timer_from_t;

typedef enum mw_os_thread_clock {
	MW_OS_CLOCK_CPU,  /* CPU time of the thread */
	MW_OS_CLOCK_WALL, /* time, whether the thread runs or waits */
} mw_os_thread_clock_t;

/* Starts a timer for a thread of this process, which also gets the signal.
 * Returns the timer's number; MW_ERR_NOT_FOUND: there is no such thread; MW_ERR_NO_MEMORY: too many
 * timers and pending signals (RLIMIT_SIGPENDING). */
int mw_os_thread_timer_start(uint32_t thread_id, int signal_number, mw_os_thread_clock_t clock,
			     mw_os_timer_from_t from, uint64_t first_ns, uint64_t period_ns);
/* Starts a timer of the CPU time of all threads together. The signal goes to any thread, and its
 * si_value is 0. Returns the results of
 * mw_os_thread_timer_start(). */
int mw_os_process_timer_start(int signal_number, uint64_t period_ns);
/* Makes the current interval of a timer end in `least_ns` at the earliest. `period_ns`: that of the
 * timer. */
void mw_os_timer_put_off(int timer, uint64_t least_ns, uint64_t period_ns);
/* Begins the current interval of a timer anew: it ends in `first_ns`. */
void mw_os_timer_begin(int timer, uint64_t first_ns, uint64_t period_ns);
/* Deletes a timer. Its signal may still be pending. */
void mw_os_timer_stop(int timer);

#endif
