/* SPDX-License-Identifier: MIT
 * clock.h -- clocks, in nanoseconds.
 * Layer: os/time, the door of this folder. The folder reads clocks and sets timers; it may use
 * src/base and os/platform. Reading order: clock, ticks (the processor's counter between two
 * readings of the kernel's clock), cpu_timer (signals at intervals of CPU time).
 *
 * Async-signal-safe (vdso). Tests set a clock of their own with mw_os_clock_set_source(). */
#ifndef MW_OS_CLOCK_H
#define MW_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Learns from libc where the vdso is, so that no clock calls libc later, when the caller may hold
 * locks.  Called at the start of the process, with no lock held; a library that replaces
 * getauxval(3) may allocate meanwhile. */
void mw_os_clock_start(void);
uint64_t mw_os_monotonic_ns(void);
/* Monotonic time of the kernel's last tick (1-4 ms apart), at a tenth of the cost of the exact
 * time. */
uint64_t mw_os_monotonic_coarse_ns(void);
uint64_t mw_os_realtime_ns(void);
uint64_t mw_os_realtime_coarse_ns(void);
/* Like mw_os_realtime_ns(), by a system call: avoids a page of libc that small processes read for
 * nothing else (doc/adr/0014-startup-layout.md). */
uint64_t mw_os_realtime_at_start_ns(void);

#ifdef MW_TESTING
/* Replaces all clocks by `source`; NULL: restores the system's clocks. */
void mw_os_clock_set_source(uint64_t (*source)(void));
bool mw_os_clock_has_source(void);
#endif

#endif
