/* SPDX-License-Identifier: MIT
 * single.h -- whether the process has one thread.
 * Layer: os/platform.  Async-signal-safe. */
#ifndef MW_OS_SINGLE_H
#define MW_OS_SINGLE_H

#include <stdbool.h>

/* Address of glibc's __libc_single_threaded; of a 0 before mw_libc_calls_find(), and with glibc
 * before 2.32, which lacks it. */
extern const char *mw_os_single_threaded;

/* Returns true if no other thread runs in this process, and none starts before the caller starts
 * one. */
static inline bool mw_os_is_single_threaded(void) {
	return *mw_os_single_threaded != 0;
}

#endif
