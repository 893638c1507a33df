/* SPDX-License-Identifier: MIT
 * test_leases.c -- samples that end when no tool prolongs them (state/lease.h). */
#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "cpu/cpu.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof_fixture.h"
#include "state/lease.h"
#include "test.h"

static uint64_t clock_ns(clockid_t clock) {
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Uses `ms` of the thread's CPU time. */
static __attribute__((noinline)) void burn(unsigned ms) {
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)ms * 1000000;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
	}
	__asm__ volatile("");
}

static mw_state_live_t *live_of(char *base) {
	return section_of(base, MW_SECTION_LIVE);
}

/* Uses at least 50 ms, and goes on until some of its samples were taken. */
static void burn_until_sampled(char *file) {
	uint64_t before = live_of(file)->cpu_samples;
	burn(50);
	for (int i = 0; i < 10000 && live_of(file)->cpu_samples < before + 5; i++)
		burn(1);
	CHECK(live_of(file)->cpu_samples >= before + 5);
}

static _Atomic uint64_t later_ns = 1000000000000; /* the library's clock; the test moves it on */

static uint64_t clock_ahead(void) {
	return later_ns;
}

/* What a tool asks for. */
static void ask(mw_state_control_t *words) {
	words->sequence++;
	mw_control_poll();
}

static void await_rate(char *file, uint32_t rate) {
	for (int i = 0; i < 10000 && live_of(file)->cpu_hz != rate; i++)
		burn(1);
	CHECK_EQ(live_of(file)->cpu_hz, rate);
}

static mw_state_control_t *start_with_lease(char **file) {
	start(524288, 0, false);
	mw_os_clock_set_source(clock_ahead);
	*file = map_state_of(getpid());
	mw_state_control_t *words = section_of(*file, MW_SECTION_CONTROL);
	words->lease_cpu_hz = 1000;
	words->cpu_beats = 1;
	ask(words);
	CHECK_EQ(live_of(*file)->cpu_hz, 1000);
	CHECK_EQ(live_of(*file)->cpu_lease_hz, 1000);
	CHECK_EQ(live_of(*file)->standing_cpu_hz, 0);
	return words;
}

/* The thread calls nothing of the library: the signal's handler ends the lease. */
static void lease_ends_by_itself(void) {
	char *file;
	mw_state_control_t *words = start_with_lease(&file);
	/* A beat prolongs it. */
	words->cpu_beats = 77;
	burn_until_sampled(file);
	later_ns += MW_LEASE_NS - 1000000000;
	burn_until_sampled(file);
	CHECK_EQ(live_of(file)->cpu_hz, 1000);
	words->cpu_beats = 76;
	burn_until_sampled(file);
	later_ns += MW_LEASE_NS - 1000000000;
	burn_until_sampled(file);
	CHECK_EQ(live_of(file)->cpu_hz, 1000);
	errno = 4711;
	later_ns += 2000000000;
	await_rate(file, 0);
	CHECK_EQ(errno, 4711);
	CHECK_EQ(live_of(file)->cpu_lease_hz, 0);
	CHECK_EQ(live_of(file)->cpu_signal, 0);
	/* What the tool left behind begins nothing, with no other request. */
	ask(words);
	CHECK_EQ(live_of(file)->cpu_hz, 0);
	words->cpu_beats = 1;
	ask(words);
	CHECK_EQ(live_of(file)->cpu_hz, 1000);
	/* A tool that ends takes it back. */
	words->lease_cpu_hz = 0;
	await_rate(file, 0);
}

static void standing_rate_comes_back(void) {
	char *file;
	mw_state_control_t *words = start_with_lease(&file);
	words->want_cpu_hz = 100;
	ask(words);
	CHECK_EQ(live_of(file)->cpu_hz, 1000);
	CHECK_EQ(live_of(file)->standing_cpu_hz, 100);
	later_ns += MW_LEASE_NS + 1000000000;
	await_rate(file, 100);
	burn_until_sampled(file);
	/* By another clock, and by a rate that cannot be had. */
	words->lease_cpu_hz = 500 | MW_CPU_WALL;
	words->cpu_beats = 2;
	ask(words);
	CHECK_EQ(live_of(file)->cpu_hz, 500 | MW_CPU_WALL);
	later_ns += MW_LEASE_NS + 1000000000;
	await_rate(file, 100);
	words->lease_cpu_hz = 10001;
	words->cpu_beats = 3;
	ask(words);
	CHECK_EQ(live_of(file)->rejected_sequence, words->sequence);
	CHECK_EQ(live_of(file)->cpu_hz, 100);
	ask(words);
	CHECK(live_of(file)->rejected_sequence != words->sequence);
	/* The program's own order ends a lease. */
	words->lease_cpu_hz = 200;
	words->cpu_beats = 4;
	ask(words);
	CHECK_EQ(live_of(file)->cpu_hz, 200);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	CHECK_EQ(live_of(file)->cpu_hz, 0);
}

static void child_has_no_lease(void) {
	char *file;
	mw_state_control_t *words = start_with_lease(&file);
	mw_control_set_active(false);
	words->want_active = 0;
	words->lease_active = 1;
	words->heap_beats = 1;
	ask(words);
	CHECK(mw_control_is_active());
	mw_prof_fork_prepare();
	pid_t child = fork();
	if (child == 0) {
		mw_prof_fork_child();
		CHECK_EQ(mw_store_live()->cpu_hz, 0);
		CHECK_EQ(mw_store_live()->cpu_lease_hz, 0);
		CHECK(!mw_control_is_active());
		burn(20);
		_exit(0);
	}
	mw_prof_fork_parent();
	int status;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	/* The heap's ends at a sample. */
	later_ns += MW_LEASE_NS + 2000000000;
	mw_control_tick(clock_ahead());
	CHECK(!mw_control_is_active());
	CHECK_EQ(live_of(file)->heap_lease, 0);
	CHECK_EQ(live_of(file)->standing_active, 0);
}

int main(void) {
	RUN_IN_CHILD(lease_ends_by_itself);
	RUN_IN_CHILD(standing_rate_comes_back);
	RUN_IN_CHILD(child_has_no_lease);
	return 0;
}
