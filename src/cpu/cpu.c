/* SPDX-License-Identifier: MIT
 * cpu.c -- switches the samples of CPU time on and off. */
#include "cpu/cpu.h"

#include "cpu/cpu_sample.h"
#include "cpu/thread_timers.h"
#include "os/file/proc.h"
#include "os/file/proc_threads.h"
#include "os/platform/kernel_calls.h"
#include "os/signal/tick.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof/store/store.h"
#include "state/layout.h"

#define NS_PER_SECOND UINT64_C(1000000000)

_Atomic bool mw_cpu_is_on;

/* Written with the control lock, or in the child of a fork. */
static struct {
	uint32_t rate; /* as live.cpu_hz; 0: off */
	int signal_number;
	_Atomic mw_cpu_period_t period;
} cpu;

static void on_tick(const mw_os_tick_t *tick) {
	if (!atomic_load_explicit(&mw_cpu_is_on, memory_order_relaxed))
		return;
	if (tick->thread_id == 0)
		mw_thread_timers_scan();
	else
		/* Relaxed: a signal that was sent before a change of the rate may count with the
		 * new period. */
		mw_cpu_sample_take(tick, atomic_load_explicit(&cpu.period, memory_order_relaxed));
}

static void show_threads(uint32_t threads, uint32_t refused) {
	mw_both_t live = mw_store_live_both();
	mw_both_set32(live, MW_LIVE(cpu_threads), threads);
	mw_both_set64(live, MW_LIVE(cpu_refused), refused);
}

static void stop(void) {
	atomic_store_explicit(&mw_cpu_is_on, false, memory_order_relaxed);
	mw_thread_timers_stop();
	mw_os_tick_leave(cpu.signal_number);
	cpu.rate = 0;
	cpu.signal_number = 0;
}

static mw_cpu_error_t begin(uint32_t rate) {
	/* A filter of system calls could end the program at the first timer. */
	if (mw_os_is_confined())
		return MW_CPU_NO_TIMER;
	if (!mw_cpu_sample_prepare())
		return MW_CPU_NO_MEMORY;
	cpu.signal_number = mw_os_tick_take(on_tick, mw_os_blocked_signals(mw_os_process_id()));
	if (cpu.signal_number == 0)
		return MW_CPU_NO_SIGNAL;
	const mw_cpu_period_t period = {.ns = (uint32_t)(NS_PER_SECOND / (rate & ~MW_CPU_WALL)),
					.is_wall = (rate & MW_CPU_WALL) != 0};
	cpu.rate = rate;
	atomic_store_explicit(&cpu.period, period, memory_order_relaxed);
	atomic_store_explicit(&mw_cpu_is_on, true, memory_order_relaxed);
	const mw_thread_timers_config_t config = {.signal_number = cpu.signal_number,
						  .clock = period.is_wall ? MW_OS_CLOCK_WALL
									  : MW_OS_CLOCK_CPU,
						  .period_ns = period.ns,
						  .changed = show_threads};
	if (mw_thread_timers_start(&config))
		return MW_CPU_FINE;
	stop();
	return MW_CPU_NO_TIMER;
}

static void show(mw_cpu_error_t error) {
	mw_both_t live = mw_store_live_both();
	bool was_on = mw_store_live()->cpu_hz != 0;
	mw_both_set32(live, MW_LIVE(cpu_error), error);
	mw_both_set32(live, MW_LIVE(cpu_signal), (uint32_t)cpu.signal_number);
	mw_both_set32(live, MW_LIVE(cpu_hz), cpu.rate);
	if (was_on != (cpu.rate != 0))
		mw_both_set64(live, MW_LIVE(cpu_changed_ns), mw_os_realtime_ns());
}

void mw_control_cpu_apply(uint32_t rate) {
	mw_cpu_error_t error = MW_CPU_FINE;
	if (rate == cpu.rate)
		return;
	if (cpu.rate != 0)
		stop();
	if (rate != 0)
		error = begin(rate);
	show(error);
}

void mw_control_cpu_reset(void) {
	mw_cpu_sample_reset();
}

/* The kernel gives a child no timers. Samples so far are the parent's. */
void mw_control_cpu_forked(void) {
	bool was_on = cpu.rate != 0;
	atomic_store_explicit(&mw_cpu_is_on, false, memory_order_relaxed);
	mw_thread_timers_forked();
	if (was_on)
		mw_os_tick_leave(cpu.signal_number);
	cpu.rate = 0;
	cpu.signal_number = 0;
	if (!mw_store_exists())
		return;
	mw_cpu_sample_forked();
	if (was_on)
		show(MW_CPU_FINE);
}

void mw_cpu_start(int32_t hz) {
	mw_control_set_cpu(hz < 0 ? (uint32_t)-hz | MW_CPU_WALL : (uint32_t)hz);
}

void mw_cpu_thread_start(void) {
	mw_thread_timers_add(mw_os_thread_id());
}

void mw_cpu_thread_end(void) {
	mw_thread_timers_remove(mw_os_thread_id());
}
