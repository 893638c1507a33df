/* SPDX-License-Identifier: MIT
 * thread_timers.h -- a timer, or an event that is counted, for each thread of the process.
 * Layer: cpu. Everything here applies to event counters, too. The threads that run at the start are
 * found in /proc/self/task. A new thread gets its timer when its heap is made; a thread that never
 * allocates is found by a scan of /proc/self/task, which a timer over the process's CPU time causes
 * every MW_TIMERS_SCAN_NS. What a new thread used before that counts with its first sample. The
 * lock MW_RANK_CPU protects the table; a signal handler that finds it taken gives up. */
#ifndef MW_CPU_THREAD_TIMERS_H
#define MW_CPU_THREAD_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "os/time/cpu_timer.h"
#include "os/time/thread_event.h"
#include "prof/control/control.h"

/* CPU time of the process between two scans. */
#define MW_TIMERS_SCAN_NS UINT64_C(20000000)

/* A thread that sleeps takes a tenth of a millisecond to stop, go on and sleep again; where a
 * thousand do so together, one in some thousand takes 2.5 ms. A thread that computes loses the
 * samples of so much time at each stop. */
#define MW_TIMERS_PUT_OFF_NS UINT64_C(10000000)

/* Told after each change: threads that have a timer, and threads whose timer the kernel refused in
 * the last scan. Called with the lock, also in signal handlers. */
typedef void mw_thread_timers_changed_t(uint32_t threads, uint32_t refused);

typedef struct mw_thread_timers_config {
	int signal_number;
	int scan_signal;                   /* of the timer that causes scans; may be the same */
	const mw_os_event_config_t *event; /* NULL: timers; else outlives them */
	mw_os_thread_clock_t clock;        /* of timers, and their period */
	uint64_t period_ns;
	mw_thread_timers_changed_t *changed;
} mw_thread_timers_config_t;

/* Who starts and stops. A signal handler waits for nothing: it gives up. */
typedef enum mw_cpu_caller { MW_CPU_IN_CALL, MW_CPU_IN_HANDLER } mw_cpu_caller_t;

/* Starts timers for all threads. Returns an error, with no timer left, if the kernel refused
 * memory, or the first timer, or if a handler finds the lock taken. Calls of start and stop are not
 * concurrent. */
int mw_thread_timers_start(const mw_thread_timers_config_t *config, mw_cpu_caller_t caller);
/* Deletes all timers. While events are deleted, no signal handler may use one. Returns false, with
 * nothing done, if a handler finds the lock taken. */
bool mw_thread_timers_stop(mw_cpu_caller_t caller);
/* The event of a thread, for the thread's own handler. */
typedef struct mw_thread_event {
	mw_os_thread_event_t *event;
	uint64_t counted; /* by the thread's samples so far */
	uint32_t start;   /* number of the start that the event is of; 0: none */
} mw_thread_event_t;

/* Returns the calling thread's event; NULL: it has none, or the lock is taken. */
mw_thread_event_t *mw_thread_timers_event(void);
/* Starts timers for new threads, and deletes those of threads that have ended. Async-signal-safe.
 */
void mw_thread_timers_scan(void);
/* Called by a thread for itself, at its start and end. */
void mw_thread_timers_add(uint32_t thread_id);
void mw_thread_timers_remove(void);
/* Puts off the ticks of CPU time that are due, of all threads or of the calling one, by
 * MW_TIMERS_PUT_OFF_NS of their thread's time, and the scan: what threads take to stop and to go on
 * causes none. MW_ANSWER_BEGINS: there is no scan until MW_ANSWER_ENDS. Of events, only the calling
 * thread's of CPU time is put off; the thread blocks its signal. Waits for the lock, but not for
 * long: the calling thread may hold it. Async-signal-safe. */
void mw_thread_timers_put_off(mw_answer_moment_t moment);
/* From now on, threads that block the signal get no timer where it is one of `signals` (bit n - 1:
 * signal n), which a descriptor of signalfd(2) reads, and scans have no signal of their own, which
 * is the process's: samples cause them. The calling thread's timer is deleted if it blocks the
 * signal. */
void mw_thread_timers_note_read(uint64_t signals);
/* Called by the handler of a sample: scans now and then, and puts off the process's timer of scans.
 * The signal of that timer may go to a thread that sleeps, whose call would return EINTR; the timer
 * is needed where all CPU time is used by threads that have no timer yet. Async-signal-safe. */
void mw_thread_timers_sampled(void);
/* Called in the child of a fork, which has no timers. */
void mw_thread_timers_forked(void);

#endif
