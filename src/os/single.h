/* SPDX-License-Identifier: MIT
 * single.h -- whether the process has one thread.
 * Layer: os.  Async-signal-safe. */
#ifndef MW_OS_SINGLE_H
#define MW_OS_SINGLE_H

#include <stdbool.h>

/* glibc 2.32 and later; weak: absent from others. */
extern char __libc_single_threaded __attribute__((weak));

/* True: no other thread runs in this process, nor starts before the caller itself starts one. */
static inline bool mw_os_is_single_threaded(void) {
	return &__libc_single_threaded && __libc_single_threaded;
}

#endif
