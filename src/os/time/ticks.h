/* SPDX-License-Identifier: MIT
 * ticks.h -- a monotonic clock that costs little more than a read of the processor's counter.
 * Layer: os/time.  Async-signal-safe. No locks: threads share only the length of a tick.
 *
 * Each thread keeps its last reading of the kernel's clock and adds the counter's ticks to it for
 * at most a millisecond. This bounds the error of a counter whose rate changes, as when a virtual
 * machine moves to another host. The length of a tick is measured between two readings of a thread.
 * Until the length is known, and where the counter is not steady, the kernel's clock is read. */
#ifndef MW_OS_TICKS_H
#define MW_OS_TICKS_H

#include <stdint.h>

/* Returns CLOCK_MONOTONIC in nanoseconds. The error is usually below a microsecond, at most a
 * millisecond. A later reading, or one of another thread, may be earlier by that error. */
uint64_t mw_os_quick_ns(void);

#ifdef MW_TESTING
/* Sets the test's counter, which is used beside the test's clock (os/time/clock.h). NULL: the
 * processor's counter. When a test sets a clock and no counter, mw_os_quick_ns() reads the clock.
 */
void mw_os_ticks_set_source(uint64_t (*source)(void));
#endif

#endif
