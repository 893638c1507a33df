/* SPDX-License-Identifier: MIT
 * clock.c -- clock_gettime(2) through the vdso. */
#include "os/clock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef MW_TESTING
static uint64_t (*test_source)(void);
void mw_os_clock_set_source(uint64_t (*source)(void)) {
	test_source = source;
}

bool mw_os_clock_has_source(void) {
	return test_source != NULL;
}
#endif

static uint64_t read_clock(clockid_t id) {
#ifdef MW_TESTING
	if (test_source)
		return test_source();
#endif
	struct timespec now;
	if (clock_gettime(id, &now) != 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t mw_os_monotonic_ns(void) {
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t mw_os_monotonic_coarse_ns(void) {
	return read_clock(CLOCK_MONOTONIC_COARSE);
}

uint64_t mw_os_realtime_ns(void) {
	return read_clock(CLOCK_REALTIME);
}

uint64_t mw_os_realtime_coarse_ns(void) {
	return read_clock(CLOCK_REALTIME_COARSE);
}

uint64_t mw_os_realtime_at_start_ns(void) {
#ifdef MW_TESTING
	if (test_source)
		return test_source();
#endif
	struct timespec now = {0};
	int saved_errno = errno;
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	errno = saved_errno;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
