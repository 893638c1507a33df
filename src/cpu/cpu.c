/* SPDX-License-Identifier: MIT
 * cpu.c -- switches the samples of CPU time on and off. */
#include "cpu/cpu.h"

#include "base/error.h"
#include "cpu/cpu_sample.h"
#include "cpu/thread_timers.h"
#include "os/file/proc.h"
#include "os/file/proc_threads.h"
#include "os/lock/lock.h"
#include "os/platform/kernel_calls.h"
#include "os/signal/tick.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof/control/requests.h"
#include "prof/store/store.h"
#include "state/layout.h"

#define NS_PER_SECOND UINT64_C(1000000000)

_Atomic bool mw_cpu_is_on;

/* Changed by the holder of the lock, or in the child of a fork. */
static struct {
	/* A signal handler that finds it taken gives up. Others wait for it, with the control lock:
	 * for a handler in another thread, which waits for nothing. */
	mw_lock_t lock;
	_Atomic uint32_t rate; /* as live.cpu_hz; 0: off */
	int signal_number;
	/* Signal of the scans for threads: of another kind than the samples' where both are free.
	 * The handler of each sees that the program has taken the other one over. */
	int scan_signal;
	uint64_t blocked; /* signals that the first thread blocked at the last call */
	_Atomic mw_cpu_period_t period;
	mw_os_event_config_t event; /* if the period has one */
	_Atomic uint32_t inside;    /* handlers that use an event */
} cpu;

/* Sequentially consistent, as in stop(): either the handler sees that events are off, or stop()
 * sees the handler and waits for it. */
static void on_event(const mw_os_tick_t *tick) {
	atomic_fetch_add_explicit(&cpu.inside, 1, memory_order_seq_cst);
	if (atomic_load_explicit(&mw_cpu_is_on, memory_order_seq_cst)) {
		mw_cpu_period_t period = atomic_load_explicit(&cpu.period, memory_order_relaxed);
		if (period.event != MW_CPU_BY_TIMER)
			mw_cpu_sample_take(tick, period);
		mw_thread_timers_sampled();
	}
	atomic_fetch_sub_explicit(&cpu.inside, 1, memory_order_release);
}

static void follow_at_once(bool anew);

/* Returns whether the program has installed a handler of its own for a signal. */
static bool is_taken_over(int signal_number) {
	return signal_number != 0 && !mw_os_tick_is_ours(signal_number);
}

static void on_tick(const mw_os_tick_t *tick) {
	bool is_scan = !tick->is_event && tick->thread_id == 0;
	/* The last tool that asked for samples was killed perhaps, and the program never calls the
	 * library. */
	bool has_other_rate =
		mw_requests_cpu_rate() != atomic_load_explicit(&cpu.rate, memory_order_relaxed);
	bool is_taken = is_taken_over(is_scan ? cpu.signal_number : cpu.scan_signal);
	if (MW_UNLIKELY(has_other_rate || is_taken))
		follow_at_once(is_taken);
	if (tick->is_event) {
		on_event(tick);
		return;
	}
	if (!atomic_load_explicit(&mw_cpu_is_on, memory_order_relaxed))
		return;
	if (is_scan) {
		mw_thread_timers_scan();
		return;
	}
	/* Relaxed: a signal that was sent before a change of the rate may count with the new
	 * period. */
	mw_cpu_period_t period = atomic_load_explicit(&cpu.period, memory_order_relaxed);
	if (period.event == MW_CPU_BY_TIMER)
		mw_cpu_sample_take(tick, period);
	mw_thread_timers_sampled();
}

static void show_threads(uint32_t threads, uint32_t refused) {
	mw_both_t live = mw_store_live_both();
	mw_both_set32(live, MW_LIVE(cpu_threads), threads);
	mw_both_set64(live, MW_LIVE(cpu_refused), refused);
}

/* Waits until no handler uses an event. A handler waits for nothing, so this takes microseconds. A
 * handler that calls this does not wait. */
static bool are_handlers_out(mw_cpu_caller_t caller) {
	for (unsigned i = 0; atomic_load_explicit(&cpu.inside, memory_order_seq_cst) != 0; i++) {
		if (caller == MW_CPU_IN_HANDLER)
			return false;
		mw_os_back_off(i);
	}
	return true;
}

static void leave_signals(void) {
	mw_os_tick_leave(cpu.signal_number);
	if (cpu.scan_signal != cpu.signal_number)
		mw_os_tick_leave(cpu.scan_signal);
	cpu.signal_number = cpu.scan_signal = 0;
}

static bool take_signals(bool is_of_events) {
	cpu.signal_number = mw_os_tick_take(on_tick, cpu.blocked, is_of_events);
	if (cpu.signal_number == 0)
		return false;
	cpu.scan_signal = mw_os_tick_take(on_tick, cpu.blocked, !is_of_events);
	if (cpu.scan_signal == 0)
		cpu.scan_signal = cpu.signal_number;
	return true;
}

/* Returns false, with nothing changed, if a handler would have to wait. */
static bool stop(mw_cpu_caller_t caller) {
	atomic_store_explicit(&mw_cpu_is_on, false, memory_order_seq_cst);
	if (!are_handlers_out(caller) || !mw_thread_timers_stop(caller)) {
		atomic_store_explicit(&mw_cpu_is_on, true, memory_order_seq_cst);
		return false;
	}
	leave_signals();
	atomic_store_explicit(&cpu.rate, 0, memory_order_relaxed);
	return true;
}

static mw_cpu_period_t period_of(uint32_t rate) {
	return (mw_cpu_period_t){.ns = (uint32_t)(NS_PER_SECOND / mw_cpu_hz(rate)),
				 .is_wall = mw_cpu_is_wall(rate),
				 .event = (uint8_t)mw_cpu_event(rate)};
}

static int start_timers(mw_cpu_period_t period, mw_cpu_caller_t caller) {
	const mw_thread_timers_config_t config = {
		.signal_number = cpu.signal_number,
		.scan_signal = cpu.scan_signal,
		.event = period.event != MW_CPU_BY_TIMER ? &cpu.event : NULL,
		.clock = period.is_wall ? MW_OS_CLOCK_WALL : MW_OS_CLOCK_CPU,
		.period_ns = period.ns,
		.changed = show_threads};
	return mw_thread_timers_start(&config, caller);
}

static mw_cpu_error_t error_of(int result, mw_cpu_period_t period) {
	if (result == MW_OK)
		return MW_CPU_FINE;
	if (period.event == MW_CPU_BY_TIMER || result == MW_ERR_NO_MEMORY)
		return MW_CPU_NO_TIMER;
	return result == MW_ERR_FORBIDDEN ? MW_CPU_FORBIDDEN : MW_CPU_NO_EVENT;
}

/* Both enumerations list the events in one order, so the values are converted by a subtraction. */
static mw_os_event_kind_t kind_of(uint32_t event) {
	_Static_assert(
		MW_CPU_CYCLES - MW_CPU_CPU_CLOCK == (int)MW_OS_EVENT_CYCLES &&
			MW_CPU_CACHE_MISSES - MW_CPU_CPU_CLOCK == (int)MW_OS_EVENT_CACHE_MISSES &&
			MW_CPU_PAGE_FAULTS - MW_CPU_CPU_CLOCK == (int)MW_OS_EVENT_PAGE_FAULTS &&
			MW_CPU_CONTEXT_SWITCHES - MW_CPU_CPU_CLOCK ==
				(int)MW_OS_EVENT_CONTEXT_SWITCHES,
		"mw_cpu_event_t and mw_os_event_kind_t list the same events");
	return (mw_os_event_kind_t)(event - MW_CPU_CPU_CLOCK);
}

/* Events count in the kernel, too, if it permits that. Threads change in the kernel alone. */
static mw_cpu_error_t start_sources(mw_cpu_period_t period, uint32_t hz, mw_cpu_caller_t caller) {
	cpu.event = (mw_os_event_config_t){.kind = kind_of(period.event),
					   .hz = hz,
					   .has_kernel = true,
					   .signal_number = cpu.signal_number};
	int result = start_timers(period, caller);
	if (result != MW_ERR_FORBIDDEN || period.event == MW_CPU_CONTEXT_SWITCHES)
		return error_of(result, period);
	cpu.event.has_kernel = false;
	result = start_timers(period, caller);
	return result == MW_OK ? MW_CPU_USER_ONLY : error_of(result, period);
}

static mw_cpu_error_t begin(uint32_t rate, mw_cpu_caller_t caller) {
	/* A filter of system calls could end the program at the first timer. */
	if (mw_os_is_confined())
		return MW_CPU_NO_TIMER;
	/* For a handler all is prepared: it runs because samples are taken. */
	if (caller == MW_CPU_IN_CALL) {
		if (!mw_cpu_sample_prepare())
			return MW_CPU_NO_MEMORY;
		cpu.blocked = mw_os_first_blocked_signals();
	}
	if (!take_signals(mw_cpu_event(rate) != MW_CPU_BY_TIMER))
		return MW_CPU_NO_SIGNAL;
	const mw_cpu_period_t period = period_of(rate);
	atomic_store_explicit(&cpu.rate, rate, memory_order_relaxed);
	atomic_store_explicit(&cpu.period, period, memory_order_relaxed);
	atomic_store_explicit(&mw_cpu_is_on, true, memory_order_relaxed);
	mw_cpu_error_t error = start_sources(period, mw_cpu_hz(rate), caller);
	if (error != MW_CPU_FINE && error != MW_CPU_USER_ONLY)
		stop(caller);
	return error;
}

static void show(mw_cpu_error_t error) {
	mw_both_t live = mw_store_live_both();
	uint32_t rate = atomic_load_explicit(&cpu.rate, memory_order_relaxed);
	bool was_on = mw_store_live()->cpu_hz != 0;
	mw_both_set32(live, MW_LIVE(cpu_error), error);
	mw_both_set32(live, MW_LIVE(cpu_signal), (uint32_t)cpu.signal_number);
	mw_both_set32(live, MW_LIVE(cpu_hz), rate);
	if (was_on != (rate != 0))
		mw_both_set64(live, MW_LIVE(cpu_changed_ns), mw_os_realtime_ns());
}

/* Called with the lock. `anew`: begins again if the rate is the same, too. A rate that is refused
 * is followed by the standing one, or by 0: live shows why the first was refused. */
static void follow(mw_cpu_caller_t caller, bool anew) {
	mw_cpu_error_t error = MW_CPU_FINE;
	uint32_t rate;
	bool is_changed = false;
	while ((rate = mw_requests_cpu_rate()) !=
		       atomic_load_explicit(&cpu.rate, memory_order_relaxed) ||
	       anew) {
		if (atomic_load_explicit(&cpu.rate, memory_order_relaxed) != 0 && !stop(caller))
			break;
		is_changed = true;
		anew = false;
		mw_cpu_error_t result = rate != 0 ? begin(rate, caller) : MW_CPU_FINE;
		if (atomic_load_explicit(&cpu.rate, memory_order_relaxed) != rate)
			mw_requests_refuse_cpu();
		error = error == MW_CPU_FINE ? result : error;
	}
	if (is_changed) {
		show(error);
		mw_requests_show_leases();
	}
}

void mw_control_cpu_follow(void) {
	for (unsigned i = 0; !mw_lock_enter(&cpu.lock); i++)
		mw_os_back_off(i);
	follow(MW_CPU_IN_CALL, is_taken_over(cpu.signal_number) || is_taken_over(cpu.scan_signal));
	mw_lock_leave(&cpu.lock);
}

/* For a handler: the next one tries again what this one cannot do at once. */
static void follow_at_once(bool anew) {
	if (!mw_lock_enter(&cpu.lock))
		return;
	follow(MW_CPU_IN_HANDLER,
	       anew && (is_taken_over(cpu.signal_number) || is_taken_over(cpu.scan_signal)));
	mw_lock_leave(&cpu.lock);
}

void mw_control_cpu_reset(void) {
	mw_cpu_sample_reset();
}

void mw_control_cpu_put_off(mw_answer_moment_t moment) {
	if (mw_cpu_wants_threads())
		mw_thread_timers_put_off(moment);
}

MW_COLD void mw_cpu_note_read(uint64_t signals) {
	mw_thread_timers_note_read(signals);
	if (mw_cpu_wants_threads())
		mw_os_tick_drop_pending(0);
}

/* The kernel gives a child no timers. Samples so far are the parent's. */
void mw_control_cpu_forked(void) {
	bool was_on = cpu.signal_number != 0;
	atomic_store_explicit(&mw_cpu_is_on, false, memory_order_relaxed);
	atomic_store_explicit(&cpu.lock.state, 0, memory_order_relaxed);
	/* Handlers of threads that do not exist here. */
	atomic_store_explicit(&cpu.inside, 0, memory_order_relaxed);
	mw_thread_timers_forked();
	if (was_on)
		leave_signals();
	atomic_store_explicit(&cpu.rate, 0, memory_order_relaxed);
	if (!mw_store_exists())
		return;
	mw_cpu_sample_forked();
	if (was_on)
		show(MW_CPU_FINE);
}

void mw_cpu_start(int32_t hz, uint32_t event) {
	if (hz < 0)
		mw_control_set_cpu((uint32_t)-hz | MW_CPU_WALL);
	else
		mw_control_set_cpu((uint32_t)hz | event << MW_CPU_EVENT_SHIFT);
}

void mw_cpu_thread_start(void) {
	mw_thread_timers_add(mw_os_thread_id());
}

void mw_cpu_thread_end(void) {
	mw_thread_timers_remove();
}
