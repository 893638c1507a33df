/* SPDX-License-Identifier: MIT
 * single.h -- whether the process has one thread.
 * Layer: os/platform.  Async-signal-safe. */
#ifndef MW_OS_SINGLE_H
#define MW_OS_SINGLE_H

#include <stdbool.h>

/* Set by glibc 2.32 and later. Weak: other versions lack it. */
extern char __libc_single_threaded __attribute__((weak));

/* Returns true if no other thread runs in this process, and none starts before the caller starts
 * one. */
static inline bool mw_os_is_single_threaded(void) {
	return &__libc_single_threaded && __libc_single_threaded;
}

#endif
