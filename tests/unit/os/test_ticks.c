/* SPDX-License-Identifier: MIT
 * test_ticks.c -- the counter is believed for as long as ticks.h says, and no longer. */
#include "os/time/ticks.h"

#include "os/time/clock.h"
#include "test.h"

enum { MS = 1000000 };

/* The true time, what the counter shows, and what reading either costs. */
static uint64_t now_ns = 5000 * (uint64_t)MS, counter = 7, interrupted;
static unsigned ticks_a_ns = 3, clock_readings;

static uint64_t read_fake_clock(void) {
	clock_readings++;
	counter += interrupted;
	return now_ns;
}

static uint64_t read_fake_counter(void) {
	return counter;
}

static void pass(uint64_t ns) {
	now_ns += ns;
	counter += ns * ticks_a_ns;
}

/* Off by this much, to the later. */
static int64_t error_ns(void) {
	return (int64_t)(mw_os_quick_ns() - now_ns);
}

static void start(void) {
	mw_os_clock_set_source(read_fake_clock);
	mw_os_ticks_set_source(read_fake_counter);
	interrupted = 0;
	ticks_a_ns = 3;
}

static void learn(void) {
	CHECK_EQ(error_ns(), 0);
	pass(10 * MS);
	CHECK_EQ(error_ns(), 0);
}

static void the_clock_is_read_until_ticks_are_known(void) {
	start();
	for (int i = 0; i < 9; i++) {
		unsigned before = clock_readings;
		CHECK_EQ(error_ns(), 0);
		CHECK_EQ(clock_readings, before + 1);
		pass(MS);
	}
}

static void the_counter_is_read_for_a_millisecond(void) {
	start();
	learn();
	unsigned before = clock_readings;
	for (int i = 0; i < 99; i++) {
		pass(MS / 100);
		CHECK(error_ns() >= -2 && error_ns() <= 0);
	}
	CHECK_EQ(clock_readings, before);
	pass(MS / 50);
	CHECK_EQ(error_ns(), 0);
	CHECK(clock_readings > before);
}

static void a_counter_that_jumps_is_left_alone(void) {
	start();
	learn();
	counter -= 1000; /* another processor's */
	CHECK_EQ(error_ns(), 0);
	pass(1000);
	counter += (uint64_t)1 << 40;
	CHECK_EQ(error_ns(), 0);
	pass(1000);
	CHECK(error_ns() >= -2 && error_ns() <= 0);
}

static void another_rate_is_learnt(void) {
	start();
	learn();
	ticks_a_ns = 2;
	pass(MS / 2);
	/* A third is missing. */
	CHECK(error_ns() < -MS / 8 && error_ns() > -MS / 4);
	pass(20 * MS);
	CHECK_EQ(error_ns(), 0);
	pass(MS / 2);
	CHECK(error_ns() >= -2 && error_ns() <= 0);
}

/* Readings with an interruption between them are of no one moment. */
static void interrupted_readings_are_not_kept(void) {
	start();
	interrupted = 100000;
	learn();
	for (int i = 0; i < 10; i++) {
		unsigned before = clock_readings;
		pass(MS * 12);
		CHECK_EQ(error_ns(), 0);
		CHECK_EQ(clock_readings, before + 1);
	}
}

/* This machine's, whatever they are. */
static void it_is_the_monotonic_clock(void) {
	mw_os_clock_set_source(NULL);
	mw_os_ticks_set_source(NULL);
	uint64_t end_ns = mw_os_monotonic_ns() + 60 * (uint64_t)MS;
	for (uint64_t after = 0; after < end_ns;) {
		uint64_t before = mw_os_monotonic_ns(), quick = mw_os_quick_ns();
		after = mw_os_monotonic_ns();
		CHECK(quick + MS >= before && quick <= after + MS);
	}
}

int main(void) {
	RUN(the_clock_is_read_until_ticks_are_known);
	RUN(the_counter_is_read_for_a_millisecond);
	RUN(a_counter_that_jumps_is_left_alone);
	RUN(another_rate_is_learnt);
	RUN(interrupted_readings_are_not_kept);
	RUN(it_is_the_monotonic_clock);
	return 0;
}
