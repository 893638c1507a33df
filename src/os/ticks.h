/* SPDX-License-Identifier: MIT
 * ticks.h -- the monotonic clock at little more than the price of the processor's counter.
 * Layer: os.  Async-signal-safe: no locks, and shared is nothing but how long a tick takes.
 *
 * Each thread keeps its last reading of the kernel's clock and counts on from it for a millisecond:
 * what the counter does wrong (another rate in a virtual machine that has moved, processors that
 * differ) is over by then.  A tick's length is measured between two such readings of a thread.
 * Until it is known, and where the counter is not steady, this is the kernel's clock. */
#ifndef MW_OS_TICKS_H
#define MW_OS_TICKS_H

#include <stdint.h>

/* CLOCK_MONOTONIC, in nanoseconds, but for an error below a microsecond as a rule and a
 * millisecond at most: later readings, and other threads', may be earlier by as much. */
uint64_t mw_os_quick_ns(void);

#ifdef MW_TESTING
/* A steady counter of the test's, beside a clock of the test's (os/clock.h); NULL: the processor's.
 * With a clock of the test's alone that is what is read. */
void mw_os_ticks_set_source(uint64_t (*source)(void));
#endif

#endif
