/* SPDX-License-Identifier: MIT
 * clock.h -- the time, in nanoseconds.  Layer: os.  Async-signal-safe (vdso).
 * Tests put their own clock in with mw_os_clock_set_source(). */
#ifndef MW_OS_CLOCK_H
#define MW_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

uint64_t mw_os_monotonic_ns(void);
/* Read from the kernel's tick (1-4 ms): costs a tenth of the exact one. */
uint64_t mw_os_monotonic_coarse_ns(void);
uint64_t mw_os_realtime_ns(void);
uint64_t mw_os_realtime_coarse_ns(void);
/* The same by a system call: libc's clock_gettime() lies where small processes read nothing else
 * (doc/adr/0014-resident-first.md). */
uint64_t mw_os_realtime_at_start_ns(void);

#ifdef MW_TESTING
/* NULL: the real clock again.  The source stands for all clocks. */
void mw_os_clock_set_source(uint64_t (*source)(void));
bool mw_os_clock_has_source(void);
#endif

#endif
