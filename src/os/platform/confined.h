/* SPDX-License-Identifier: MIT
 * confined.h -- whether the program forbids system calls to itself (seccomp(2)).
 * Layer: os/platform. In such a process src/os makes only system calls that any malloc makes: mmap,
 * munmap, mremap, mprotect, madvise, futex, sched_yield, and write for messages. Other functions of
 * src/os report a refusal of the kernel, which each caller handles. Async-signal-safe. */
#ifndef MW_OS_CONFINED_H
#define MW_OS_CONFINED_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"

/* true: the program forbids system calls; set by mw_os_confine() of os/file/proc.h */
extern _Atomic bool mw_os_confined;

MW_ALWAYS_INLINE bool mw_os_is_confined(void) {
	/* Relaxed: a thread that sets a filter for itself has stored the value before. A filter for
	 * all threads takes effect later than the store becomes visible. */
	return atomic_load_explicit(&mw_os_confined, memory_order_relaxed);
}

#endif
