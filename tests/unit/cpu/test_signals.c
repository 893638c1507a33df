/* SPDX-License-Identifier: MIT
 * test_signals.c -- signals of CPU samples: which are taken, and what happens when the program
 * takes them over. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "cpu/cpu.h"
#include "os/signal/tick.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof_fixture.h"
#include "test.h"

static uint64_t cpu_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Uses `ms` of the thread's CPU time. */
static __attribute__((noinline)) void burn(unsigned ms) {
	uint64_t end = cpu_ns() + (uint64_t)ms * 1000000;
	while (cpu_ns() < end) {
	}
	__asm__ volatile("");
}

static _Atomic unsigned strange; /* calls of the program's handlers */

static void programs_own(int number) {
	(void)number;
	strange++;
}

static void await_signal(uint32_t number) {
	for (int i = 0; i < 10000 && mw_store_live()->cpu_signal != number; i++)
		burn(1);
	CHECK_EQ(mw_store_live()->cpu_signal, number);
}

static void await_samples(void) {
	uint64_t before = mw_store_live()->cpu_samples;
	for (int i = 0; i < 10000 && mw_store_live()->cpu_samples < before + 10; i++)
		burn(1);
	CHECK(mw_store_live()->cpu_samples >= before + 10);
}

static void samples_go_on_by_other_signals(void) {
	start(524288, 0, false);
	mw_cpu_start(1000, MW_CPU_BY_TIMER);
	CHECK(mw_store_live()->cpu_signal >= (uint32_t)SIGRTMIN);
	await_samples();
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		signal(number, programs_own);
	/* The scan's handler sees it. */
	await_signal(SIGURG);
	await_samples();
	unsigned so_far = strange;
	/* One for each sample until the next scan. */
	CHECK(so_far <= 100);
	await_samples();
	CHECK_EQ(strange, so_far);
	/* A program with out-of-band data. */
	signal(SIGURG, programs_own);
	await_signal(SIGWINCH);
	await_samples();
	so_far = strange;
	await_samples();
	CHECK_EQ(strange, so_far);
	/* None is left, and no handler of the library's runs: the next tick sees it. */
	signal(SIGWINCH, programs_own);
	usleep(200000);
	mw_control_tick(mw_os_monotonic_ns() + 1000000000);
	CHECK_EQ(mw_store_live()->cpu_hz, 0);
	CHECK_EQ(mw_store_live()->cpu_error, MW_CPU_NO_SIGNAL);
	so_far = strange;
	burn(100);
	CHECK_EQ(strange, so_far);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
		struct sigaction now;
		CHECK_EQ(sigaction(number, NULL, &now), 0);
		CHECK(now.sa_handler == programs_own);
	}
}

/* The scan's signal, which the program begins to use. */
static void scans_go_on_by_another_signal(void) {
	start(524288, 0, false);
	mw_cpu_start(1000, MW_CPU_BY_TIMER);
	await_samples();
	CHECK(mw_os_tick_is_ours(SIGURG));
	signal(SIGURG, programs_own);
	for (int i = 0; i < 10000 && !mw_os_tick_is_ours(SIGWINCH); i++)
		burn(1);
	CHECK(mw_os_tick_is_ours(SIGWINCH));
	await_samples();
	unsigned so_far = strange;
	CHECK(so_far <= 2);
	await_samples();
	CHECK_EQ(strange, so_far);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	struct sigaction now;
	CHECK_EQ(sigaction(SIGURG, NULL, &now), 0);
	CHECK(now.sa_handler == programs_own);
	CHECK_EQ(sigaction(SIGWINCH, NULL, &now), 0);
	CHECK(now.sa_handler == SIG_DFL);
}

/* exec(3) keeps pending signals of events: the new program would end by a real-time signal. */
static void events_have_a_harmless_signal(void) {
	start(524288, 0, false);
	mw_cpu_start(1000, MW_CPU_PAGE_FAULTS);
	if (mw_store_live()->cpu_error == MW_CPU_FORBIDDEN)
		return;
	CHECK_EQ(mw_store_live()->cpu_signal, SIGURG);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	signal(SIGURG, programs_own);
	mw_cpu_start(1000, MW_CPU_PAGE_FAULTS);
	CHECK_EQ(mw_store_live()->cpu_signal, SIGWINCH);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	signal(SIGWINCH, programs_own);
	mw_cpu_start(1000, MW_CPU_PAGE_FAULTS);
	CHECK_EQ(mw_store_live()->cpu_hz, 0);
	CHECK_EQ(mw_store_live()->cpu_error, MW_CPU_NO_SIGNAL);
	/* Timers have theirs. */
	mw_cpu_start(1000, MW_CPU_BY_TIMER);
	CHECK_EQ(mw_store_live()->cpu_hz, 1000);
	await_samples();
	mw_cpu_start(0, MW_CPU_BY_TIMER);
}

static void check_put_off(uint32_t event) {
	start(524288, 0, false);
	mw_cpu_start(1000, event);
	if (mw_store_live()->cpu_error == MW_CPU_FORBIDDEN)
		return;
	await_samples();
	uint32_t number = mw_store_live()->cpu_signal;
	sigset_t all, before, pending;
	sigfillset(&all);
	CHECK_EQ(sigprocmask(SIG_SETMASK, &all, &before), 0);
	unsigned tried = 0;
	for (unsigned i = 0; i < 200; i++) {
		uint64_t begin_ns = cpu_ns();
		while (cpu_ns() < begin_ns + 5000 * i)
			continue;
		uint64_t put_off_ns = mw_os_monotonic_ns();
		mw_control_cpu_put_off(MW_ANSWER_ENDS);
		mw_os_tick_drop_pending(0);
		begin_ns = cpu_ns();
		while (cpu_ns() < begin_ns + 200000)
			continue;
		CHECK_EQ(sigpending(&pending), 0);
		/* Else the machine kept the thread from looking. An event also counts time that
		 * a virtual machine's host takes, and ends after a millisecond. */
		if (cpu_ns() < begin_ns + 400000 && mw_os_monotonic_ns() < put_off_ns + 900000) {
			tried++;
			CHECK(sigismember(&pending, (int)number) == 0);
		}
	}
	CHECK(tried >= 100);
	CHECK_EQ(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	await_samples();
	mw_cpu_start(0, MW_CPU_BY_TIMER);
}

static void none_comes_after_it_was_put_off(void) {
	check_put_off(MW_CPU_BY_TIMER);
}

static void no_event_of_time_comes_after_it_was_put_off(void) {
	check_put_off(MW_CPU_CPU_CLOCK);
}

static bool is_pending(int number) {
	sigset_t pending;
	CHECK_EQ(sigpending(&pending), 0);
	return sigismember(&pending, number) == 1;
}

/* The scan's signal goes to any thread, which may sleep in a call. */
static void no_scan_comes_of_an_answer(void) {
	start(524288, 0, false);
	mw_cpu_start(1, MW_CPU_BY_TIMER);
	CHECK(mw_os_tick_is_ours(SIGURG));
	sigset_t all, before;
	sigfillset(&all);
	CHECK_EQ(sigprocmask(SIG_SETMASK, &all, &before), 0);
	mw_control_cpu_put_off(MW_ANSWER_BEGINS);
	mw_os_tick_drop_pending(0);
	burn(300);
	mw_control_cpu_put_off(MW_ANSWER_STOPS);
	CHECK(!is_pending(SIGURG));
	mw_control_cpu_put_off(MW_ANSWER_ENDS);
	/* The other threads go on meanwhile. */
	burn(50);
	CHECK(!is_pending(SIGURG));
	for (unsigned i = 0; i < 300 && !is_pending(SIGURG); i++)
		burn(1);
	CHECK(is_pending(SIGURG));
	CHECK_EQ(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
}

static _Atomic bool is_over;

static void *compute(void *unused) {
	while (!is_over)
		burn(1);
	return unused;
}

/* The kernel gives a signal of the process to the first thread, if any. */
static void a_thread_that_sleeps_is_left_alone(void) {
	const struct timespec time = {.tv_nsec = 10000000};
	pthread_t worker;
	unsigned interrupted = 0;
	start(524288, 0, false);
	mw_cpu_start(100, MW_CPU_BY_TIMER);
	CHECK_EQ(pthread_create(&worker, NULL, compute, NULL), 0);
	while (mw_store_live()->cpu_threads < 2)
		nanosleep(&time, NULL);
	for (unsigned i = 0; i < 50; i++)
		interrupted += nanosleep(&time, NULL) != 0;
	is_over = true;
	CHECK_EQ(pthread_join(worker, NULL), 0);
	printf("%u of 50 calls returned EINTR\n", interrupted);
	CHECK(interrupted <= 5);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
}

int main(void) {
	RUN_IN_CHILD(a_thread_that_sleeps_is_left_alone);
	RUN_IN_CHILD(no_scan_comes_of_an_answer);
	RUN_IN_CHILD(samples_go_on_by_other_signals);
	RUN_IN_CHILD(scans_go_on_by_another_signal);
	RUN_IN_CHILD(events_have_a_harmless_signal);
	RUN_IN_CHILD(none_comes_after_it_was_put_off);
	RUN_IN_CHILD(no_event_of_time_comes_after_it_was_put_off);
	return 0;
}
