/* SPDX-License-Identifier: MIT
 * test_clock.c -- the clocks are the kernel's, however they are asked. */
#include "os/time/clock.h"

#include <errno.h>
#include <time.h>

#include "test.h"

static uint64_t libc_ns(clockid_t id) {
	struct timespec now;
	CHECK(clock_gettime(id, &now) == 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void lies_between(clockid_t id, uint64_t (*read)(void)) {
	for (int i = 0; i < 3; i++) {
		uint64_t before = libc_ns(id), ns = read(), after = libc_ns(id);
		CHECK(before <= ns && ns <= after);
	}
}

static void clocks_are_the_kernels(void) {
	lies_between(CLOCK_MONOTONIC, mw_os_monotonic_ns);
	lies_between(CLOCK_MONOTONIC_COARSE, mw_os_monotonic_coarse_ns);
	lies_between(CLOCK_REALTIME, mw_os_realtime_ns);
	lies_between(CLOCK_REALTIME, mw_os_realtime_at_start_ns);
	lies_between(CLOCK_REALTIME_COARSE, mw_os_realtime_coarse_ns);
}

static void reading_a_clock_keeps_errno(void) {
	errno = 123;
	CHECK(mw_os_monotonic_ns() > 0);
	CHECK(errno == 123);
}

int main(void) {
	RUN(clocks_are_the_kernels);
	RUN(reading_a_clock_keeps_errno);
	return 0;
}
